//! Any bytes are the answers of a provider or an error: whole lines, each the message of the next round.
#![no_main]

use ldp_pca_dps::Message;
use ldp_pca_research::fuzzing as research;
use libfuzzer_sys::fuzz_target;

const HEADER: &str = "dps-pca 1 session 00ff provider 3";

fuzz_target!(|input: &[u8]| {
    // The first byte chooses whether the file begins as one of these.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let mut file = bytes.to_vec();
    if choice & 1 != 0 {
        file.splice(..0, format!("{HEADER}\n").into_bytes());
    }
    let Ok((messages, whole)) = research::answers(&file, HEADER) else { return };
    let kept = &file[..whole];
    assert!(file[whole..].iter().all(|byte| *byte != b'\n'));
    assert_eq!(research::answers(kept, HEADER), Ok((messages.clone(), whole)));
    assert_eq!(kept.iter().filter(|byte| **byte == b'\n').count(), messages.len() + usize::from(whole > 0));
    for (message, round) in messages.iter().zip(1..) {
        assert_eq!(Message::from_json(message).map(|message| message.round), Ok(round));
    }
});
