import type { Event } from "./events.js";
import type {
  AfterCallPayload,
  ApprovalPayload,
  BeforeCallPayload,
  EnvironmentPayload,
  HostToolPayload,
} from "./host.js";
import type { Json } from "./generated/protocol.js";

/** An event of a subscription. */
export interface EventItem {
  type: "event";
  subscriptionId: number;
  event: Event;
}

/** Work for the host, answered once, later. */
export type RequestItem = { type: "request"; id: string } & (
  | { kind: "approval"; payload: ApprovalPayload }
  | { kind: "environment"; payload: EnvironmentPayload }
  | { kind: "hostTool"; payload: HostToolPayload }
  | { kind: "hook"; payload: BeforeCallPayload | AfterCallPayload }
  | { kind: "formatter"; payload: { [key: string]: Json } }
);

/** That answer is no longer wanted. */
export interface CancelledItem {
  type: "cancelled";
  requestId: string;
}

/** The end of an operation; one of the two is `null`. */
export interface OperationItem {
  type: "op";
  id: number;
  result: Json;
  error: { code: string; message: string; details: { [key: string]: Json } } | null;
}

/** Nothing follows. */
export interface ClosedItem {
  type: "closed";
}

/** One item of the queue. */
export type Item = EventItem | RequestItem | CancelledItem | OperationItem | ClosedItem;
