//! Input files in all their forms: with and without header, gzip, NPY, byte-order marks, line ends, quotes.

use serde_json::json;

use crate::support::{Folder, gzip, npy, npy_matrix};

const RECORDS: &str = "1.5,-2\n0.25,4\n-3,0.5\n1,1\n";

fn numeric_task() -> Folder {
    let folder = Folder::new();
    folder.write("sample.csv", format!("x,y\n{RECORDS}"));
    folder.make_task("sample.csv", "--epsilon 2");
    folder
}

/// How a file without a header is randomized.
const NO_HEADER: &str = "--header no --separator comma";

/// The reports of a file, from a fixed seed.
fn reports(folder: &Folder, name: &str, options: &str, content: impl AsRef<[u8]>) -> Vec<u8> {
    folder.write(name, content);
    folder.randomize(&format!("{name} --insecure-seed 7 {options}")).ok();
    folder.read("out.ldpr")
}

#[test]
fn the_same_records_in_any_format_give_the_same_reports() {
    let folder = numeric_task();
    let plain = reports(&folder, "plain.csv", NO_HEADER, RECORDS);
    assert_eq!(plain.len(), 4 * 35);
    let header = format!("x,y\n{RECORDS}");
    let doubles: [&[f64]; 4] = [&[1.5, -2.0], &[0.25, 4.0], &[-3.0, 0.5], &[1.0, 1.0]];
    let singles: Vec<u8> = doubles.iter().flat_map(|row| row.iter().flat_map(|x| (*x as f32).to_le_bytes())).collect();
    let swapped: Vec<u8> = doubles.iter().flat_map(|row| row.iter().flat_map(|x| x.to_be_bytes())).collect();
    let column = |place: usize| doubles.iter().flat_map(move |row| row[place].to_le_bytes());
    let by_columns: Vec<u8> = column(0).chain(column(1)).collect();
    let halves: Vec<u8> = [0x3e00, 0xc000, 0x3400, 0x4400, 0xc200, 0x3800, 0x3c00, 0x3c00u16]
        .iter()
        .flat_map(|bits| bits.to_le_bytes())
        .collect();
    let big_halves: Vec<u8> = halves.chunks(2).flat_map(|two| [two[1], two[0]]).collect();
    let tabs = |text: &str| text.replace(',', "\t");
    let semicolons = |text: &str| text.replace(',', ";");
    let commas = |text: &str| semicolons(text).replace('.', ",");
    let variants: [(&str, &str, Vec<u8>); 36] = [
        ("header.csv", "", header.clone().into()),
        ("reordered.csv", "", b"y,x\n-2,1.5\n4,0.25\n0.5,-3\n1,1\n".to_vec()),
        ("packed.csv.gz", NO_HEADER, gzip(RECORDS.as_bytes())),
        ("packed-without-saying-so.csv", "", gzip(header.as_bytes())),
        ("members.csv.gz", NO_HEADER, [gzip(&RECORDS.as_bytes()[..9]), gzip(&RECORDS.as_bytes()[9..])].concat()),
        ("padded.csv.gz", "", [gzip(header.as_bytes()), vec![0; 512]].concat()),
        ("crlf.csv", "", header.replace('\n', "\r\n").into()),
        ("carriage-returns.csv", "", header.replace('\n', "\r").into()),
        ("mixed-line-ends.csv", "", b"x,y\n1.5,-2\r0.25,4\r\n-3,0.5\r1,1\n\x1a".to_vec()),
        ("mark.csv", "", format!("\u{feff}{header}").into()),
        ("mark-without-header.csv", NO_HEADER, format!("\u{feff}{RECORDS}").into()),
        ("quoted.csv", "", b"\"x\",\"y\"\r\n\"1.5\",\"-2\"\r\n0.25,\"4\"\r\n-3,0.5\r\n1,1\r\n".to_vec()),
        ("unfinished.csv", NO_HEADER, RECORDS.trim_end().into()),
        ("blank-lines-and-spaces.csv", "", b"\n x , y \n\n 1.5 , -2\n0.25,4\n\n\n-3,0.5\n1,1\n\n".to_vec()),
        ("header.tsv", "", tabs(&header).into()),
        ("plain.tsv", "--header no", tabs(RECORDS).into()),
        ("packed.tab.gz", "", gzip(tabs(&header).as_bytes())),
        ("tabs.txt", "", tabs(&header).replace('\n', "\r\n").into()),
        ("tabs.csv", "--header no --separator tab", tabs(RECORDS).into()),
        ("bars.csv", "--header no --separator |", RECORDS.replace(',', "|").into()),
        ("semicolons.csv", "", semicolons(&header).into()),
        ("semicolons-without-header.csv", "--header no --separator semicolon", semicolons(RECORDS).into()),
        ("quoted-semicolons.csv", "", b"\"x\";\"y\"\n\"1.5\";-2\n0.25;\"4\"\n-3;0.5\n1;1".to_vec()),
        ("carriage-returns.txt", "", semicolons(&header).replace('\n', "\r").into()),
        ("decimal-commas.csv", "--decimal-comma", commas(&header).into()),
        ("decimal-commas.tsv", "--decimal-comma --header no", commas(RECORDS).replace(';', "\t").into()),
        ("bare-commas.csv", "--decimal-comma --header no --separator ;", commas(RECORDS).into()),
        ("quoted-commas.csv", "--decimal-comma", b"x,y\n\"1,5\",-2\n\"0,25\",4\n-3,\"0,5\"\n1,1\n".to_vec()),
        ("doubles.npy", "", npy_matrix(&doubles)),
        ("singles.npy.gz", "", gzip(&npy("<f4", false, "(4, 2)", &singles))),
        ("swapped.npy", "", npy(">f8", false, "(4, 2)", &swapped)),
        ("columns.npy", "", npy("<f8", true, "(4, 2)", &by_columns)),
        ("spaces.npy", "", npy(">f8", false, " ( 4 ,2, )", &swapped)),
        ("python-2.npy", "", npy(">f8", false, "(4L, 2L)", &swapped)),
        ("halves.npy", "", npy("<f2", false, "(4, 2)", &halves)),
        ("big-halves.npy", "", npy(">f2", false, "(4, 2)", &big_halves)),
    ];
    for (name, options, content) in variants {
        assert!(reports(&folder, name, options, content) == plain, "{name}");
    }
}

#[test]
fn integers_of_every_width_are_numbers() {
    let folder = numeric_task();
    let expected = reports(&folder, "plain.csv", NO_HEADER, "1,2\n3,4\n");
    let cases: [(&str, Vec<u8>); 5] = [
        ("|i1", vec![1, 2, 3, 4]),
        ("|u1", vec![1, 2, 3, 4]),
        ("<i2", vec![1, 0, 2, 0, 3, 0, 4, 0]),
        (">u4", vec![0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4]),
        ("<i8", [1u64, 2, 3, 4].iter().flat_map(|value| value.to_le_bytes()).collect()),
    ];
    for (dtype, data) in cases {
        assert_eq!(reports(&folder, "m.npy", "", npy(dtype, false, "(2, 2)", &data)), expected, "{dtype}");
    }
}

/// All 65536 of them, against sums of powers of two; of them are 2048 NaN or infinite, which are missing.
#[test]
fn floats_of_half_precision_are_those_of_the_standard() {
    let folder = Folder::new();
    let bits: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    folder.write("all.npy", npy("<f2", false, "(65536, 1)", &bits));
    let inferred = folder.json("schema infer all.npy --scaling max-abs");
    assert_eq!((&inferred["missing"]["c1"], &inferred["columns"][0]["scale"]), (&json!(2048), &json!(65504.0)));
    folder.write("least.npy", npy("<f2", false, "(2, 1)", &[1, 0, 0, 0x84]));
    let inferred = folder.json("schema infer least.npy --scaling range");
    // The least number above zero is 2^-24, and the least normal one 2^-14.
    let found = (&inferred["columns"][0]["offset"], &inferred["columns"][0]["scale"]);
    assert_eq!(found, (&json!(-(0.5f64.powi(14))), &json!(0.5f64.powi(14) + 0.5f64.powi(24))));
}
