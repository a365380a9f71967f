//! What host and guard say to each other. This one file is compiled into both, so the two cannot drift apart.
//!
//! Everything travels over the guard's descriptor 0, a UNIX stream socket:
//!
//! * host to guard: one start frame, the descriptors it names attached to its first byte, then one byte per request;
//! * guard to host: reports.
//!
//! The end of the socket is a message too: for the guard it means that the host is gone, for the host that the guard is.

/// The largest start frame a guard accepts; the kernel's limit for arguments and environment is far below it.
pub(crate) const FRAME_LIMIT: usize = 64 << 20;
/// Descriptors that can travel with a frame.
pub(crate) const DESCRIPTOR_LIMIT: usize = 4;
/// The number under which a wrapped guard finds its image.
pub(crate) const IMAGE_DESCRIPTOR: i32 = 3;

/// The guard itself failed.
pub(crate) const CODE_FAILED: i32 = 125;
/// The program exists and could not be executed.
pub(crate) const CODE_NOT_EXECUTABLE: i32 = 126;
/// The program was not found.
pub(crate) const CODE_NOT_FOUND: i32 = 127;

/// How long a tree has between TERM and KILL when it is cancelled.
pub(crate) const CANCEL_GRACE_MS: u64 = 2_000;
/// The same, when the command has ended or the host is gone.
pub(crate) const LEFTOVER_GRACE_MS: u64 = 250;
/// How long killing may take before the guard gives up on what the kernel does not let go.
pub(crate) const KILL_LIMIT_MS: u64 = 5_000;

/// 128 random bits that only the host and the guards of one command know.
pub(crate) type Secret = [u8; 16];

/// What a passed descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The command's standard output; its standard error too when no `Error` is passed.
    Output,
    /// The command's standard error.
    Error,
    /// The command's standard input; otherwise it is at end-of-file.
    Input,
    /// A Landlock ruleset the command enters.
    Ruleset,
}

/// Who starts the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// This guard.
    Direct,
    /// A second guard, forked from this one: each ends the tree when the other dies.
    Joined,
    /// A second guard, started through a program that confines it (`program args -- image`).
    Wrapped {
        /// Absolute path of the program.
        program: Vec<u8>,
        /// Its arguments, without the `--` that ends them.
        args: Vec<Vec<u8>>,
    },
}

/// The start frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Stands in every report and in the diagnostic line.
    pub(crate) secret: Secret,
    /// The process whose end is the tree's end; 0 = only the socket counts.
    pub(crate) host: u32,
    /// The descriptors that come along, in order.
    pub(crate) roles: Vec<Role>,
    /// Who starts the command.
    pub(crate) chain: Chain,
    /// Absolute path of the program.
    pub(crate) program: Vec<u8>,
    /// Its arguments, without the program's name.
    pub(crate) args: Vec<Vec<u8>>,
    /// Its whole environment, as `NAME=value`.
    pub(crate) env: Vec<Vec<u8>>,
    /// Its working directory.
    pub(crate) cwd: Vec<u8>,
    /// `struct sock_filter[]` to load last; empty = none.
    pub(crate) seccomp: Vec<u8>,
    /// Whether every capability is dropped, the bounding set included.
    pub(crate) drop_capabilities: bool,
    /// Whether calls that signal the host or a guard are refused.
    pub(crate) shield: bool,
}

/// What a host can ask for after the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Stop the tree.
    Cancel,
    /// The output has been drained: stop what the command left behind.
    Finish,
}

/// What a guard tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The whole frame has arrived. A guard that is lost before saying so has started nothing.
    Ready,
    /// The program runs.
    Started,
    /// The command's own process has ended.
    Exited {
        /// As `waitpid` gives it.
        status: i32,
        /// No stop had been asked for when it ended.
        unasked: bool,
    },
    /// The program was not started, for this guard code.
    Failed {
        /// 125, 126 or 127.
        code: i32,
        /// Why.
        text: String,
    },
    /// Nothing of the tree is left; the last report.
    Done {
        /// Processes that were alive when the command had ended, and were stopped.
        leftover: u32,
        /// Processes that could not be stopped.
        survivors: u32,
    },
}

impl Request {
    /// The byte on the wire.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Cancel => b'C',
            Self::Finish => b'F',
        }
    }

    /// The request a byte stands for.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b'C' => Some(Self::Cancel),
            b'F' => Some(Self::Finish),
            _ => None,
        }
    }
}

impl Start {
    /// The frame with its length in front.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer(vec![0; 4]);
        out.0.extend_from_slice(&self.secret);
        out.number(self.host);
        out.bytes(&self.roles.iter().map(|role| *role as u8).collect::<Vec<u8>>());
        match &self.chain {
            Chain::Direct => out.number(0),
            Chain::Joined => out.number(1),
            Chain::Wrapped { program, args } => {
                out.number(2);
                out.bytes(program);
                out.list(args);
            }
        }
        out.bytes(&self.program);
        out.list(&self.args);
        out.list(&self.env);
        out.bytes(&self.cwd);
        out.bytes(&self.seccomp);
        out.number(u32::from(self.drop_capabilities));
        out.number(u32::from(self.shield));
        let length = length(out.0.len() - 4).to_le_bytes();
        out.0.splice(..4, length);
        out.0
    }

    /// A frame without its length; `None` when it is not one.
    pub(crate) fn decode(frame: &[u8]) -> Option<Self> {
        let mut input = Reader(frame);
        let start = Self {
            secret: input.array()?,
            host: input.number()?,
            roles: input.bytes()?.iter().map(|byte| Role::from_byte(*byte)).collect::<Option<_>>()?,
            chain: match input.number()? {
                0 => Chain::Direct,
                1 => Chain::Joined,
                2 => Chain::Wrapped { program: input.bytes()?.to_vec(), args: input.list()? },
                _ => return None,
            },
            program: input.bytes()?.to_vec(),
            args: input.list()?,
            env: input.list()?,
            cwd: input.bytes()?.to_vec(),
            seccomp: input.bytes()?.to_vec(),
            drop_capabilities: input.number()? != 0,
            shield: input.number()? != 0,
        };
        input.0.is_empty().then_some(start)
    }
}

impl Role {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Output, Self::Error, Self::Input, Self::Ruleset].into_iter().find(|role| *role as u8 == byte)
    }
}

impl Report {
    /// The report on the wire: secret, kind, two numbers, text.
    pub(crate) fn encode(&self, secret: &Secret) -> Vec<u8> {
        let (kind, first, second, text) = match self {
            Self::Ready => (0, 0, 0, ""),
            Self::Started => (1, 0, 0, ""),
            Self::Exited { status, unasked } => (2, status.cast_unsigned(), u32::from(*unasked), ""),
            Self::Failed { code, text } => (3, code.cast_unsigned(), 0, text.as_str()),
            Self::Done { leftover, survivors } => (4, *leftover, *survivors, ""),
        };
        let mut out = Writer(secret.to_vec());
        out.number(kind);
        out.number(first);
        out.number(second);
        out.bytes(text.as_bytes());
        out.0
    }
}

/// Puts reports together again from a stream's chunks.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pending: Vec<u8>,
}

impl Reports {
    /// Adds what was read.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.pending.extend_from_slice(chunk);
    }

    /// The next whole report. What does not carry the secret is no report and ends the conversation.
    pub(crate) fn next(&mut self, secret: &Secret) -> Option<Report> {
        let mut input = Reader(&self.pending);
        let genuine = input.array::<16>()? == *secret;
        let (kind, first, second) = (input.number()?, input.number()?, input.number()?);
        let text = String::from_utf8_lossy(input.bytes()?).into_owned();
        let rest = input.0.len();
        self.pending.drain(..self.pending.len() - rest);
        match kind {
            _ if !genuine => None,
            0 => Some(Report::Ready),
            1 => Some(Report::Started),
            2 => Some(Report::Exited { status: first.cast_signed(), unasked: second != 0 }),
            3 => Some(Report::Failed { code: first.cast_signed(), text }),
            4 => Some(Report::Done { leftover: first, survivors: second }),
            _ => None,
        }
    }
}

/// A frame is far below 4 GiB; saturating only makes an impossible one unreadable.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.number(length(value.len()));
        self.0.extend_from_slice(value);
    }

    fn list(&mut self, values: &[Vec<u8>]) {
        self.number(length(values.len()));
        values.iter().for_each(|value| self.bytes(value));
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn list(&mut self) -> Option<Vec<Vec<u8>>> {
        let count = self.number()?;
        (0..count).map(|_| self.bytes().map(<[u8]>::to_vec)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Secret = [7; 16];

    fn start() -> Start {
        Start {
            secret: SECRET,
            host: 41,
            roles: vec![Role::Output, Role::Ruleset],
            chain: Chain::Wrapped { program: b"/bin/w".to_vec(), args: vec![b"--a".to_vec(), Vec::new()] },
            program: b"/bin/\xff".to_vec(),
            args: vec![b"-c".to_vec()],
            env: vec![b"A=\xfe".to_vec()],
            cwd: b"/".to_vec(),
            seccomp: vec![1; 16],
            drop_capabilities: true,
            shield: false,
        }
    }

    #[test]
    fn a_frame_comes_back_and_a_part_of_one_does_not() {
        for chain in [Chain::Direct, Chain::Joined, start().chain] {
            let frame = Start { chain, ..start() }.encode();
            let (length, body) = frame.split_first_chunk::<4>().unwrap();
            assert_eq!(u32::from_le_bytes(*length) as usize, body.len());
            let back = Start::decode(body).unwrap();
            assert_eq!(back.encode(), frame);
            assert!((0..body.len()).all(|end| Start::decode(&body[..end]).is_none()));
            assert_eq!(Start::decode(&[body, b"x"].concat()), None);
        }
    }

    #[test]
    fn reports_come_back_from_any_cut() {
        let reports = [
            Report::Ready,
            Report::Started,
            Report::Exited { status: -1, unasked: true },
            Report::Failed { code: 127, text: "no".to_owned() },
            Report::Done { leftover: 2, survivors: 1 },
        ];
        let bytes: Vec<u8> = reports.iter().flat_map(|report| report.encode(&SECRET)).collect();
        for size in 1..bytes.len() {
            let mut reader = Reports::default();
            let mut back = Vec::new();
            for chunk in bytes.chunks(size) {
                reader.push(chunk);
                while let Some(report) = reader.next(&SECRET) {
                    back.push(report);
                }
            }
            assert_eq!(back, reports);
        }
    }

    #[test]
    fn what_lacks_the_secret_is_no_report() {
        let mut reader = Reports::default();
        reader.push(&Report::Started.encode(&[8; 16]));
        assert_eq!(reader.next(&SECRET), None);
    }
}
