//! The messages between driver and DSP process. `PROTOCOL.md` is the description that both sides follow.

/// Bytes of a message header: eight 32-bit words.
pub const HEADER_BYTES: usize = 32;

/// No message is longer. It is well below a socket's send buffer, so that any message can be sent.
pub const MAX_MESSAGE_BYTES: usize = 128 << 10;

/// What a message is. The numbers are part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Host to DSP: a remote call.
    Call = 1,
    /// DSP to host: the result of a remote call.
    Reply = 2,
    /// Host to DSP: a buffer may be mapped from now on.
    Map = 3,
    /// Host to DSP: it may not any more.
    Unmap = 4,
    /// Host to DSP: a queue exists.
    Queue = 5,
    /// Host to DSP: a queue does not exist any more.
    QueueClose = 6,
    /// Both ways: one queue packet.
    Packet = 7,
    /// DSP to host: a line of log text.
    Log = 8,
}

impl TryFrom<u32> for Kind {
    type Error = Malformed;

    fn try_from(value: u32) -> Result<Self, Malformed> {
        Ok(match value {
            1 => Kind::Call,
            2 => Kind::Reply,
            3 => Kind::Map,
            4 => Kind::Unmap,
            5 => Kind::Queue,
            6 => Kind::QueueClose,
            7 => Kind::Packet,
            8 => Kind::Log,
            _ => return Err(Malformed("unknown kind of message")),
        })
    }
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

/// A message: its header and the data behind it. What `a` ... `d` mean depends on the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What the message is.
    pub kind: Kind,
    /// Pairs a reply with its call; 0 for the rest.
    pub seq: u32,
    /// Word a.
    pub a: u32,
    /// Word b.
    pub b: u32,
    /// Word c.
    pub c: u32,
    /// Word d.
    pub d: u32,
    /// The AEE code of a reply.
    pub result: u32,
    /// What lies behind the header.
    pub data: Vec<u8>,
}

impl Message {
    /// A message with nothing in it.
    pub fn new(kind: Kind) -> Self {
        Message { kind, seq: 0, a: 0, b: 0, c: 0, d: 0, result: 0, data: Vec::new() }
    }

    /// CALL of a method. `data` comes from [`encode_call`].
    pub fn call(seq: u32, scalars: u32, handle: u64, data: Vec<u8>) -> Self {
        let (c, d) = split(handle);
        Message { seq, a: scalars, c, d, data, ..Message::new(Kind::Call) }
    }

    /// MAP of a buffer.
    pub fn map(fd: i32, bytes: u64) -> Self {
        let (c, d) = split(bytes);
        Message { a: fd as u32, c, d, ..Message::new(Kind::Map) }
    }

    /// UNMAP of a buffer.
    pub fn unmap(fd: i32) -> Self {
        Message { a: fd as u32, ..Message::new(Kind::Unmap) }
    }

    /// QUEUE with the sizes of its two rings.
    pub fn queue(id: u64, request_bytes: u32, response_bytes: u32) -> Self {
        let (a, b) = split(id);
        Message { a, b, c: request_bytes, d: response_bytes, ..Message::new(Kind::Queue) }
    }

    /// QUEUE_CLOSE.
    pub fn queue_close(id: u64) -> Self {
        let (a, b) = split(id);
        Message { a, b, ..Message::new(Kind::QueueClose) }
    }

    /// PACKET of a queue.
    pub fn packet(id: u64, message: &[u8]) -> Self {
        let (a, b) = split(id);
        Message { a, b, data: message.to_vec(), ..Message::new(Kind::Packet) }
    }

    /// Words a and b as one number: the queue id.
    pub fn ab(&self) -> u64 {
        join(self.a, self.b)
    }

    /// Words c and d as one number: a handle or a size.
    pub fn cd(&self) -> u64 {
        join(self.c, self.d)
    }

    /// The bytes that go over the socket. Fails when the data is longer than a message can be.
    pub fn encode(&self) -> Result<Vec<u8>, Malformed> {
        if self.data.len() > MAX_MESSAGE_BYTES - HEADER_BYTES {
            return Err(Malformed("too much data for one message"));
        }
        let length = self.data.len() as u32;
        let words = [self.kind as u32, self.seq, self.a, self.b, self.c, self.d, self.result, length];
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.data.len());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend_from_slice(&self.data);
        Ok(bytes)
    }

    /// Reads what came over the socket: header, length, then meaning.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let mut word = || reader.word().map_err(|_| Malformed("shorter than a header"));
        let (kind, seq, a, b) = (word()?, word()?, word()?, word()?);
        let (c, d, result, length) = (word()?, word()?, word()?, word()?);
        if reader.0.len() as u64 != u64::from(length) {
            return Err(Malformed("the length in the header is not that of the message"));
        }
        Ok(Message { kind: Kind::try_from(kind)?, seq, a, b, c, d, result, data: reader.0.to_vec() })
    }
}

fn split(value: u64) -> (u32, u32) {
    (value as u32, (value >> 32) as u32)
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The scalars word of a remote call: which method, and how many arguments of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalars {
    /// Method number; 0 is open, 1 is close.
    pub method: u32,
    /// Input buffers.
    pub inputs: usize,
    /// Output buffers.
    pub outputs: usize,
    /// Handles that go in.
    pub handles_in: usize,
    /// Handles that come out.
    pub handles_out: usize,
}

impl Scalars {
    /// Takes a scalars word apart.
    pub fn from_word(word: u32) -> Self {
        Scalars {
            method: word >> 24 & 0x1f,
            inputs: (word >> 16 & 0xff) as usize,
            outputs: (word >> 8 & 0xff) as usize,
            handles_in: (word >> 4 & 0xf) as usize,
            handles_out: (word & 0xf) as usize,
        }
    }

    /// The scalars word.
    pub fn word(self) -> u32 {
        (self.method & 0x1f) << 24
            | (self.inputs as u32 & 0xff) << 16
            | (self.outputs as u32 & 0xff) << 8
            | (self.handles_in as u32 & 0xf) << 4
            | self.handles_out as u32 & 0xf
    }
}

/// Data of a CALL: the input buffers, then how long each output buffer is.
pub fn encode_call(inputs: &[&[u8]], output_lengths: &[u32]) -> Result<Vec<u8>, Malformed> {
    let mut data = encode_buffers(inputs)?;
    data.extend(output_lengths.iter().flat_map(|length| length.to_le_bytes()));
    Ok(data)
}

/// Reverses [`encode_call`].
pub fn decode_call(data: &[u8], inputs: usize, outputs: usize) -> Result<(Vec<Vec<u8>>, Vec<u32>), Malformed> {
    let mut reader = Reader(data);
    let buffers = (0..inputs).map(|_| reader.buffer()).collect::<Result<_, _>>()?;
    let lengths = (0..outputs).map(|_| reader.word()).collect::<Result<_, _>>()?;
    reader.end()?;
    Ok((buffers, lengths))
}

/// Data of a REPLY: the output buffers.
pub fn encode_buffers(buffers: &[&[u8]]) -> Result<Vec<u8>, Malformed> {
    let total: u64 = buffers.iter().map(|buffer| buffer.len() as u64 + 8).sum();
    if total > MAX_MESSAGE_BYTES as u64 {
        return Err(Malformed("too much data for one message"));
    }
    let mut data = Vec::with_capacity(total as usize);
    for buffer in buffers {
        data.extend_from_slice(&(buffer.len() as u32).to_le_bytes());
        data.extend_from_slice(buffer);
        data.resize(data.len().next_multiple_of(4), 0);
    }
    Ok(data)
}

/// Reverses [`encode_buffers`].
pub fn decode_buffers(data: &[u8], count: usize) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut reader = Reader(data);
    let buffers = (0..count).map(|_| reader.buffer()).collect::<Result<_, _>>()?;
    reader.end()?;
    Ok(buffers)
}

/// What is still to be read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Result<u32, Malformed> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Malformed("ends in the middle of a number"))?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*word))
    }

    fn buffer(&mut self) -> Result<Vec<u8>, Malformed> {
        let length = self.word()? as usize;
        let padded = length.checked_next_multiple_of(4).ok_or(Malformed("a buffer is too long"))?;
        let bytes = self.0.get(..padded).ok_or(Malformed("ends in the middle of a buffer"))?;
        self.0 = &self.0[padded..];
        Ok(bytes[..length].to_vec())
    }

    fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed("more data than the arguments need"))
        }
    }
}
