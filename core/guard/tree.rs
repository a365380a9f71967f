//! The processes below this guard: finding them, signalling them.
//!
//! As PID 1 of a namespace the guard reaches all of them in one stroke, which no fork can outrun. Otherwise it walks
//! the kernel's lists of children from itself downwards; orphans are among them, because a guard is a subreaper.

use std::fs;

use crate::sys::{self, SIGCONT};

/// What `/proc/PID/stat` says about a process.
struct Status {
    parent: i32,
    /// Ended, or past the point where it can do anything but end.
    ending: bool,
}

/// Signals every process of the tree. Stopped ones are continued, so that they can act on it.
pub(crate) fn signal(number: i32) {
    if is_init() {
        sys::send_signal(-1, number);
        sys::send_signal(-1, SIGCONT);
        return;
    }
    for pid in processes() {
        sys::send_signal(pid, number);
        sys::send_signal(pid, SIGCONT);
    }
}

/// How many processes of the tree are alive. Those that are just ending do not count.
pub(crate) fn living() -> u32 {
    let living = processes().into_iter().filter(|pid| status(*pid).is_some_and(|status| !status.ending));
    u32::try_from(living.count()).unwrap_or(u32::MAX)
}

/// Whether this is PID 1. A host never is the parent of one, so only a wrapper's new PID namespace makes it true.
fn is_init() -> bool {
    std::process::id() == 1
}

fn processes() -> Vec<i32> {
    let own = std::process::id().cast_signed();
    if is_init() {
        return all_processes().into_iter().filter(|pid| *pid != own).collect();
    }
    descendants_by_lists(own).unwrap_or_else(|| descendants_by_scan(own))
}

/// Breadth first through `/proc/PID/task/TID/children`. `None` = this kernel does not offer the lists.
fn descendants_by_lists(root: i32) -> Option<Vec<i32>> {
    let mut found = children(root)?;
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        // A process that ended meanwhile has no list; its children are somewhere above it now.
        for child in children(pid).unwrap_or_default() {
            if !found.contains(&child) {
                found.push(child);
            }
        }
    }
    Some(found)
}

fn children(pid: i32) -> Option<Vec<i32>> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let mut found = Vec::new();
    for task in tasks.flatten() {
        let list = fs::read_to_string(task.path().join("children")).ok()?;
        found.extend(list.split_ascii_whitespace().filter_map(|child| child.parse::<i32>().ok()));
    }
    Some(found)
}

/// The same from the parents of all processes.
fn descendants_by_scan(root: i32) -> Vec<i32> {
    let parents: Vec<(i32, i32)> =
        all_processes().into_iter().filter_map(|pid| Some((pid, status(pid)?.parent))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(parents.iter().filter(|(_, above)| *above == parent).map(|(pid, _)| *pid));
    }
    found.remove(0);
    found
}

fn all_processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn status(pid: i32) -> Option<Status> {
    /// `PF_EXITING` of the kernel: set before a process closes its descriptors.
    const EXITING: u32 = 4;
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and can hold anything, parentheses and bytes that are no text included.
    let after = text.iter().rposition(|byte| *byte == b')')? + 1;
    let text = String::from_utf8_lossy(text.get(after..)?);
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let flags: u32 = fields.get(6)?.parse().ok()?;
    let dead = matches!(*fields.first()?, "Z" | "X");
    Some(Status { parent: fields.get(1)?.parse().ok()?, ending: dead || flags & EXITING != 0 })
}
