//! Messages survive the way over the socket, and bytes that are no message are refused.

#![allow(clippy::unwrap_used)]

use cdsprpc::protocol::*;
use proptest::prelude::*;

fn buffers(max: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..max)
}

fn slices(buffers: &[Vec<u8>]) -> Vec<&[u8]> {
    buffers.iter().map(Vec::as_slice).collect()
}

proptest! {
    #[test]
    fn messages_round_trip(kind in 1_u32..=8, words in any::<[u32; 6]>(), data in prop::collection::vec(any::<u8>(), 0..300)) {
        let [seq, a, b, c, d, result] = words;
        let message = Message { kind: Kind::try_from(kind).unwrap(), seq, a, b, c, d, result, data };
        let bytes = message.encode().unwrap();
        prop_assert_eq!(bytes.len(), HEADER_BYTES + message.data.len());
        prop_assert_eq!(Message::decode(&bytes).unwrap(), message);
    }

    #[test]
    fn cut_messages_are_refused(data in prop::collection::vec(any::<u8>(), 1..100), cut in any::<prop::sample::Index>()) {
        let bytes = Message::packet(7, &data).encode().unwrap();
        prop_assert!(Message::decode(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..200), inputs in 0_usize..5, outputs in 0_usize..5) {
        // they hardly ever mean something; what counts is that nothing breaks, whatever the lengths inside say
        let _ = Message::decode(&bytes);
        let _ = decode_buffers(&bytes, inputs);
        if let Ok((buffers, lengths)) = decode_call(&bytes, inputs, outputs) {
            prop_assert_eq!((buffers.len(), lengths.len()), (inputs, outputs));
        }
    }

    #[test]
    fn calls_round_trip(inputs in buffers(6), lengths in prop::collection::vec(any::<u32>(), 0..6)) {
        let data = encode_call(&slices(&inputs), &lengths).unwrap();
        prop_assert_eq!(data.len() % 4, 0);
        prop_assert_eq!(decode_call(&data, inputs.len(), lengths.len()).unwrap(), (inputs.clone(), lengths.clone()));
        prop_assert!(decode_call(&data, inputs.len(), lengths.len() + 1).is_err());
        if !lengths.is_empty() {
            prop_assert!(decode_call(&data, inputs.len(), lengths.len() - 1).is_err());
        }
    }

    #[test]
    fn replies_round_trip(outputs in buffers(6)) {
        let data = encode_buffers(&slices(&outputs)).unwrap();
        prop_assert_eq!(decode_buffers(&data, outputs.len()).unwrap(), outputs);
    }

    #[test]
    fn scalars_round_trip(word in 0_u32..1 << 29) {
        prop_assert_eq!(Scalars::from_word(word).word(), word);
    }

    #[test]
    fn numbers_of_two_words_round_trip(value in any::<u64>()) {
        prop_assert_eq!(Message::map(3, value).cd(), value);
        prop_assert_eq!(Message::call(1, 2, value, Vec::new()).cd(), value);
        prop_assert_eq!(Message::queue(value, 1, 2).ab(), value);
        prop_assert_eq!(Message::packet(value, &[]).ab(), value);
    }
}

/// The layout that the DSP side, which is written in C, relies on.
#[test]
fn the_bytes_are_those_of_the_protocol() {
    let data = encode_call(&[&[1, 2, 3, 4, 5]], &[9]).unwrap();
    assert_eq!(data, [5, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 9, 0, 0, 0]);
    let bytes = Message::call(0x0102, 0x0201_0100, 0x0000_0005_0000_0004, data).encode().unwrap();
    assert_eq!(
        bytes[..32],
        [1, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0]
    );
    let queue = Message::queue(0x0000_0002_0000_0001, 3, 4).encode().unwrap();
    assert_eq!(queue, [5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_is_too_long_is_not_encoded() {
    let long = vec![0; MAX_MESSAGE_BYTES];
    assert!(Message::packet(1, &long).encode().is_err());
    assert!(encode_call(&[&long], &[]).is_err());
}

#[test]
fn unknown_kinds_are_refused() {
    let mut bytes = Message::unmap(3).encode().unwrap();
    for kind in [0, 9, 0xffff_ffff_u32] {
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        assert!(Message::decode(&bytes).is_err(), "{kind}");
    }
}
