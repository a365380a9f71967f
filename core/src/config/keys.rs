//! Every configuration key: form, range and what a narrowing layer may do. A new key is a new line here, and a line in
//! `defaults.json` when it has a default.

use serde_json::{Value, json};

use super::shape::{Key, Mark, Shape, Shorthand};
use Shape::{AbsolutePath, Bool, Free, Int, List, Named, Number, Object, Route, Secret, Short, Text, Word};

const ANY: usize = usize::MAX;
const NAME: Shape = Text(1, ANY);
const LINE: Shape = Text(0, ANY);
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 86_400_000;

const MODES: &[&str] = &["standard", "strict", "allow_all"];
const SANDBOX_MODES: &[&str] = &["danger-full-access", "workspace-write", "read-only"];
const NETWORK: &[&str] = &["allow", "deny"];
const EXPOSURE: &[&str] = &["deferred", "auto", "eager"];

/// The whole document.
pub(super) const ROOT: Shape = Object(KEYS);

const KEYS: &[Key] = &[
    Key::new("permission", Object(PERMISSION)),
    Key::new("sandbox", Object(SANDBOX)),
    Key::narrowed("tools", Named(&Bool), Mark::False),
    Key::new(
        "tool_output",
        Object(&[
            Key::narrowed("max_bytes", Int(1, 16_777_216), Mark::Smaller),
            Key::narrowed("max_lines", Int(1, 1_000_000), Mark::Smaller),
            Key::new("tail_lines", Int(0, 200)),
        ]),
    ),
    Key::new(
        "concurrency",
        Object(&[
            Key::narrowed("tool_calls", Int(1, 64), Mark::Smaller),
            Key::narrowed("delegations", Int(1, 64), Mark::Smaller),
            Key::narrowed("mcp_connections", Int(1, 64), Mark::Smaller),
            Key::narrowed("lsp_requests", Int(1, 64), Mark::Smaller),
        ]),
    ),
    Key::new("shell", Short(&SHELL)),
    Key::new("env", Object(&[Key::narrowed("withhold_prefixes", List(&Text(1, 64), 0, 64), Mark::Adds)])),
    Key::new("git", Object(&[Key::new("preflight_budget_ms", Int(100, 300_000))])),
    Key::new("search", Object(&[Key::new("ripgrep_path", AbsolutePath)])),
    Key::new("web_search", Object(WEB_SEARCH)),
    Key::new("formatter", Named(&Object(FORMATTER))),
    Key::narrowed("agents", Named(&Object(AGENT)), Mark::Agents),
    Key::new("default_agent", NAME),
    Key::new("model", Route),
    Key::new("provider", Named(&Object(PROVIDER))),
    Key::narrowed("subagent_depth", Int(0, 8), Mark::Smaller),
    Key::new("delegation", Object(&[Key::new("timeout_ms", Int(0, DAY_MS))])),
    Key::new("workflows", Named(&Object(WORKFLOW))),
    Key::new("councils", Named(&Object(COUNCIL))),
    Key::new("goal", Object(GOAL)),
    Key::new(
        "budget",
        Object(&[
            Key::narrowed("tool_calls", Int(0, u64::MAX), Mark::SmallerLimit),
            Key::narrowed("wall_clock_ms", Int(0, u64::MAX), Mark::SmallerLimit),
        ]),
    ),
    Key::new("compaction", Object(&[Key::new("auto", Bool), Key::new("threshold", Number(0.1, 0.95))])),
    Key::new("continuity", Short(&CONTINUITY)),
    Key::new("memory", Object(MEMORY)),
    Key::new(
        "skills",
        Object(&[
            Key::new("paths", List(&NAME, 0, ANY)),
            Key::new("config", List(&Object(SKILL), 0, ANY)),
            Key::narrowed("project", Bool, Mark::False),
        ]),
    ),
    Key::new("mcp", Named(&Object(MCP_SERVER))),
    Key::new("mcp_exposure", Word(EXPOSURE)),
    Key::new("mcp_allow_project", Bool),
    Key::new("events", Object(&[Key::new("queue", Int(64, 65_536))])),
    Key::new("log", Object(&[Key::new("level", Word(&["error", "warn", "info", "debug", "trace"]))])),
];

const PERMISSION: &[Key] =
    &[Key::narrowed("mode", Word(MODES), Mark::Only("strict")), Key::narrowed("rules", Shape::Rules, Mark::Rules)];

const SANDBOX: &[Key] = &[
    Key::narrowed("mode", Word(SANDBOX_MODES), Mark::Rank(SANDBOX_MODES)),
    Key::narrowed("network", Word(NETWORK), Mark::Rank(NETWORK)),
    Key::narrowed("onUnavailable", Word(&["run-unconfined", "deny"]), Mark::Rank(&["run-unconfined", "deny"])),
    Key::new("backend", Word(&["auto", "bubblewrap", "landlock", "native"])),
    Key::new("bubblewrap_path", AbsolutePath),
    Key::narrowed("landlock_new_entries", Word(NETWORK), Mark::Only("deny")),
    Key::new("git_metadata", Word(&["ask", "writable"])),
    Key::new("writableRoots", List(&NAME, 0, ANY)),
    Key::narrowed("protectedPaths", List(&NAME, 0, ANY), Mark::Adds),
];

const SHELL: Shorthand = Shorthand {
    scalar: NAME,
    object: Object(&[
        Key::new("interpreter", NAME),
        Key::narrowed("hard_ceiling_ms", Int(1_000, DAY_MS), Mark::Smaller),
        Key::narrowed("background_ceiling_ms", Int(0, 604_800_000), Mark::SmallerLimit),
    ]),
    expand: |name| json!({ "interpreter": name }),
};

const CONTINUITY: Shorthand = Shorthand {
    scalar: Bool,
    object: Object(&[Key::narrowed("history", Bool, Mark::False), Key::narrowed("notes", Bool, Mark::False)]),
    expand: |on: &Value| json!({ "history": on, "notes": on }),
};

const WEB_SEARCH: &[Key] = &[
    Key::narrowed("max_queries", Int(1, 16), Mark::Smaller),
    Key::narrowed("max_sources", Int(1, 50), Mark::Smaller),
    Key::new("query_timeout_ms", Int(1_000, 120_000)),
    Key::new("provider", Object(SEARCH_PROVIDER)),
];

const SEARCH_PROVIDER: &[Key] = &[
    Key::required("name", NAME),
    Key::required("url", NAME),
    Key::new("method", Word(&["GET", "POST"])),
    Key::required("query_param", NAME),
    Key::new("count_param", NAME),
    Key::new("key", Secret),
    Key::new("key_env", Secret),
    Key::new("key_in", NAME),
    Key::new("headers", Named(&Secret)),
    Key::required("results", LINE),
    Key::required(
        "fields",
        Object(&[
            Key::required("title", NAME),
            Key::required("url", NAME),
            Key::new("snippet", NAME),
            Key::new("publishedAt", NAME),
        ]),
    ),
    Key::new("allow_private", Bool),
];

const FORMATTER: &[Key] = &[
    Key::required("command", List(&NAME, 1, ANY)),
    Key::required("extensions", List(&NAME, 1, ANY)),
    Key::new("timeout_ms", Int(1, 60_000)),
];

const AGENT: &[Key] = &[
    Key::new("description", LINE),
    Key::new("prompt", LINE),
    Key::new("mode", Word(&["primary", "subagent", "all"])),
    Key::new("model", Route),
    Key::new("reasoning", Word(&["off", "low", "medium", "high", "xhigh", "max"])),
    Key::new("variant", NAME),
    Key::new("temperature", Number(f64::MIN, f64::MAX)),
    Key::new("top_p", Number(f64::MIN, f64::MAX)),
    Key::new("options", Free),
    Key::new("tools", List(&NAME, 0, ANY)),
    Key::new("delegates", List(&NAME, 0, ANY)),
    Key::new("permission", Object(PERMISSION)),
    Key::new("sandbox", Object(&[Key::new("mode", Word(SANDBOX_MODES)), Key::new("network", Word(NETWORK))])),
    Key::new("requiredSkills", List(&NAME, 0, ANY)),
    Key::new("steps", Int(1, u64::MAX)),
    Key::new("hidden", Bool),
    Key::new("disable", Bool),
    Key::new("color", NAME),
];

const PROVIDER: &[Key] = &[Key::required("kind", NAME), Key::new("baseUrl", NAME), Key::new("options", Free)];

const WORKFLOW: &[Key] = &[
    Key::new("maxAgents", Int(1, 64)),
    Key::new("maxParallel", Int(1, 64)),
    Key::required(
        "nodes",
        List(
            &Object(&[
                Key::required("id", NAME),
                Key::required("agent", NAME),
                Key::new("dependsOn", List(&NAME, 0, ANY)),
                Key::new("description", LINE),
                Key::new("prompt", LINE),
            ]),
            1,
            64,
        ),
    ),
];

const COUNCIL: &[Key] = &[
    Key::required(
        "seats",
        List(&Object(&[Key::required("id", NAME), Key::required("agent", NAME), Key::new("instruction", LINE)]), 1, 12),
    ),
    Key::new("quorum", Int(1, 12)),
    Key::new("maxParallel", Int(1, 12)),
    Key::new("deadline_ms", Int(1, 600_000)),
    Key::new("synthesis_ms", Int(1, 599_999)),
    Key::new("retries", Int(0, 3)),
    Key::new("seatOutputBytes", Int(1, 65_536)),
    Key::new("synthesisInputBytes", Int(1, 262_144)),
];

const GOAL: &[Key] = &[
    Key::new("default_token_budget", Int(0, 1_000_000_000_000)),
    Key::new(
        "retry",
        Object(&[
            Key::new("initial_delay_ms", Int(1, HOUR_MS)),
            Key::new("max_delay_ms", Int(1, HOUR_MS)),
            Key::new("jitter_percent", Int(0, 100)),
            Key::new("poll_interval_ms", Int(10, 60_000)),
        ]),
    ),
];

const MEMORY: &[Key] = &[
    Key::narrowed("enabled", Bool, Mark::False),
    Key::narrowed("promotion", Word(&["automatic", "high_confidence", "review"]), Mark::Only("review")),
    Key::new("auto_confidence", Number(0.0, 1.0)),
    Key::new("global_char_limit", Int(100, 20_000)),
    Key::new("project_char_limit", Int(100, 20_000)),
];

const SKILL: &[Key] = &[Key::required("path", NAME), Key::required("exposure", Word(&["index", "search", "explicit"]))];

const MCP_SERVER: &[Key] = &[
    Key::required("type", Word(&["local", "remote"])),
    Key::new("command", List(&NAME, 1, ANY)),
    Key::new("environment", Named(&Secret)),
    Key::new("cwd", NAME),
    Key::new("url", NAME),
    Key::new("headers", Named(&Secret)),
    Key::new("enabled", Bool),
    Key::new("timeout_ms", Int(100, 600_000)),
    Key::new("connect_timeout_ms", Int(100, 600_000)),
    Key::new("exposure", Word(EXPOSURE)),
    Key::new(
        "tools",
        Named(&Object(&[
            Key::new("effect", Word(&["ReadOnly", "UserMediated", "Delegating", "SideEffecting"])),
            Key::new("replay", Word(&["Never", "Safe"])),
            Key::new("concurrency", Word(&["Exclusive", "ParallelSafe", "IsolatedBackground"])),
            Key::new("enabled", Bool),
        ])),
    ),
];
