//! Exact conversion of numbers to decimal text and back, the same on every platform and without tables.
//!
//! The digest of a task is of its canonical text, so the text of a number is part of the format. The shortest digits
//! are those of Steele & White (1990) as Burger & Dybvig (1996) compute them; reading is by comparison with the exact
//! midpoint of two neighbours, Clinger's (1990) algorithm R. Both work in integers of any size: about a microsecond for
//! a number with seventeen digits. A client in the browser cannot afford the faster methods, whose tables of powers
//! take tens of kilobytes each.

mod natural;

use core::cmp::Ordering;
use core::fmt::{self, Write};

use self::natural::Natural;

/// The shortest decimal that reads back as the number, for messages: `0.25`, `180`, `inf`, `NaN`. Below 1e-8 and from
/// 1e16 on it has an exponent: `1e-300`. Equal to the standard library's forms (except for exact ties in the last
/// digit), at a fraction of their size.
#[derive(Clone, Copy, Debug)]
pub struct Decimal(pub f64);

/// A number in scientific notation with this many digits after the point, for messages: `5.0e-4`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scientific(pub f64, pub usize);

/// A finite number as JSON, in the shortest digits that read back as it and never as a whole number: `180.0`, `0.25`,
/// `1e-6`, `1.5e+300`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json(pub f64);

/// Decimal digits and the place of the point: `0.d1d2d3… × 10^point`.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self.0 {
            value if value.is_nan() => "NaN".to_owned(),
            value if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
            value => {
                let mut text = sign(value).to_owned();
                let digits = Digits::of(value);
                if (-7..=16).contains(&digits.point) {
                    digits.write_plain(&mut text);
                } else {
                    digits.write_mantissa(&mut text);
                    text.push_str(&format!("e{}", digits.point - 1));
                }
                text
            }
        })
    }
}

impl fmt::Display for Scientific {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, places) = *self;
        if !value.is_finite() || value == 0.0 {
            return Decimal(value).fmt(f);
        }
        let Digits { mut digits, mut point } = Digits::of(value);
        let round_up = digits.get(places + 1).is_some_and(|&digit| digit >= b'5');
        digits.resize(places + 1, b'0');
        if round_up {
            match digits.iter().rposition(|&digit| digit != b'9') {
                Some(last) => {
                    digits[last] += 1;
                    digits[last + 1..].fill(b'0');
                }
                None => {
                    digits.fill(b'0');
                    digits[0] = b'1';
                    point += 1;
                }
            }
        }
        f.write_str(sign(value))?;
        for (index, &digit) in digits.iter().enumerate() {
            if index == 1 {
                f.write_char('.')?;
            }
            f.write_char(digit.into())?;
        }
        write!(f, "e{}", point - 1)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = sign(self.0).to_owned();
        let digits = Digits::of(self.0);
        if (-4..=16).contains(&digits.point) {
            digits.write_plain(&mut text);
            if digits.point >= digits.count() {
                text.push_str(".0");
            }
        } else {
            digits.write_mantissa(&mut text);
            text.push_str(&format!("e{:+}", digits.point - 1));
        }
        f.write_str(&text)
    }
}

/// A whole number with thousands separators, for texts and pictures: `494,021`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things, which several have an s: `1 feature`, `2,000 features`.
pub fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{} {what}s", grouped(count)) }
}

fn sign(value: f64) -> &'static str {
    if value.is_sign_negative() { "-" } else { "" }
}

fn put(out: &mut String, digits: &[u8]) {
    out.extend(digits.iter().copied().map(char::from));
}

impl Digits {
    /// The digits of a finite number, without its sign.
    fn of(value: f64) -> Self {
        if value == 0.0 { Self { digits: vec![b'0'], point: 1 } } else { shortest(value.abs()) }
    }

    fn count(&self) -> i32 {
        self.digits.len() as i32
    }

    /// All digits with the point after the first, where there are others.
    fn write_mantissa(&self, out: &mut String) {
        put(out, &self.digits[..1]);
        if self.count() > 1 {
            out.push('.');
            put(out, &self.digits[1..]);
        }
    }

    /// All digits, without an exponent.
    fn write_plain(&self, out: &mut String) {
        let (before, after) = self.digits.split_at(self.point.clamp(0, self.count()).unsigned_abs() as usize);
        put(out, if before.is_empty() { b"0" } else { before });
        out.extend(core::iter::repeat_n('0', (self.point - self.count()).max(0).unsigned_abs() as usize));
        if !after.is_empty() {
            out.push('.');
            out.extend(core::iter::repeat_n('0', self.point.min(0).unsigned_abs() as usize));
            put(out, after);
        }
    }
}

/// The fewest digits that are nearer to `value` (finite, positive) than to any other number.
fn shortest(value: f64) -> Digits {
    let (mantissa, exponent) = decompose(value);
    // value = rest / unit × 10^point, and its neighbours are (rest - below) / unit and (rest + above) / unit away, all
    // halved: a power of two has its lower neighbour at half the distance.
    let wide = u32::from(mantissa == 1 << 52 && exponent > LEAST_EXPONENT);
    let up = exponent.max(0).unsigned_abs();
    let down = (-exponent).max(0).unsigned_abs();
    let mut rest = Natural::new(mantissa).times_power_of_two(up + 1 + wide);
    let mut unit = Natural::new(1).times_power_of_two(down + 1 + wide);
    let mut below = Natural::new(1).times_power_of_two(up);
    let mut above = Natural::new(1).times_power_of_two(up + wide);
    // The logarithm from below: right or one too small.
    let bits = 64 - mantissa.leading_zeros() as i32;
    let mut point = (f64::from(exponent + bits - 1) * core::f64::consts::LOG10_2 - 1e-10).ceil() as i32;
    if point >= 0 {
        unit = unit.times_power_of_ten(point.unsigned_abs());
    } else {
        for number in [&mut rest, &mut below, &mut above] {
            *number = core::mem::replace(number, Natural::new(0)).times_power_of_ten(point.unsigned_abs());
        }
    }
    // An even mantissa is what a tie is rounded to, so the ends of the interval belong to it.
    let inclusive = mantissa.is_multiple_of(2);
    let reaches = |rest: &Natural, above: &Natural, unit: &Natural| match rest.plus(above).cmp(unit) {
        Ordering::Equal => inclusive,
        order => order.is_gt(),
    };
    if reaches(&rest, &above, &unit) {
        point += 1;
    } else {
        for number in [&mut rest, &mut below, &mut above] {
            number.multiply_add(10, 0);
        }
    }
    let mut digits = Vec::with_capacity(17);
    loop {
        // rest / unit is below 10 here, and the quotient the next digit.
        let mut digit = b'0';
        while rest >= unit {
            rest.subtract(&unit);
            digit += 1;
        }
        let low = if inclusive { rest <= below } else { rest < below };
        let high = reaches(&rest, &above, &unit);
        if !low && !high {
            digits.push(digit);
            for number in [&mut rest, &mut below, &mut above] {
                number.multiply_add(10, 0);
            }
            continue;
        }
        // The last digit is the nearer of two, the even one of two equally near.
        let nearer_up = match rest.plus(&rest).cmp(&unit) {
            Ordering::Equal => digit % 2 == 1,
            order => order.is_gt(),
        };
        digits.push(digit + u8::from(if low && high { nearer_up } else { high }));
        return Digits { digits, point };
    }
}

/// Digits beyond these matter only by being present: the exact midpoint of two numbers has fewer.
const MOST_DIGITS: usize = 800;

/// The number nearest to a decimal `[-] digits [. digits] [e [+-] digits]`, ties to the even one; `None` when it is too
/// large to be finite, or the text is not a decimal.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, parse_exponent(text.get(at + 1..)?)?),
        None => (text, 0),
    };
    let (mut digits, mut exponent) = (Vec::new(), exponent);
    let (mut seen, mut fraction, mut dropped) = (false, false, false);
    for byte in mantissa.bytes() {
        match byte {
            b'.' if !fraction && seen => {
                fraction = true;
                seen = false;
                continue;
            }
            b'0'..=b'9' => seen = true,
            _ => return None,
        }
        let kept = digits.len() < MOST_DIGITS;
        if kept && (byte != b'0' || !digits.is_empty()) {
            digits.push(byte - b'0');
        }
        dropped |= !kept && byte != b'0';
        // Digits left out after the point change nothing; those before it change the exponent.
        exponent += i64::from(!kept) - i64::from(fraction);
    }
    if !seen {
        return None;
    }
    if dropped {
        digits.push(1);
        exponent -= 1;
    }
    let magnitude = nearest(&digits, exponent)?;
    Some(if negative { -magnitude } else { magnitude })
}

fn parse_exponent(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Far beyond the range of any text that fits in memory, so nothing is lost.
    let value = digits.iter().fold(0i64, |value, digit| (value * 10 + i64::from(digit - b'0')).min(1 << 50));
    Some(sign * value)
}

/// The number nearest to the integer of `digits` times `10^exponent`.
fn nearest(digits: &[u8], exponent: i64) -> Option<f64> {
    if digits.is_empty() {
        return Some(0.0);
    }
    let magnitude = digits.len() as i64 + exponent;
    if magnitude > 310 {
        return None;
    }
    if magnitude < -330 {
        return Some(0.0);
    }
    let exponent = exponent as i32;
    let leading = digits.iter().take(19).fold(0u64, |value, &digit| value * 10 + u64::from(digit));
    // Both exact, so one rounding: Clinger's fast path.
    if digits.len() <= 15 && exponent.abs() <= 22 {
        let power = (0..exponent.abs()).fold(1.0, |power, _| power * 10.0);
        return Some(if exponent < 0 { leading as f64 / power } else { leading as f64 * power });
    }
    let shift = exponent + digits.len().saturating_sub(19) as i32;
    // Near enough to start from: some fifteen units in the last place.
    let (mut guess, mut power) = (leading as f64, 10.0);
    for bit in 0..9 {
        if shift.unsigned_abs() >> bit & 1 == 1 {
            guess = if shift < 0 { guess / power } else { guess * power };
        }
        power *= power;
    }
    let mut value = if guess.is_finite() { guess } else { f64::MAX };
    let mut decimal = Natural::new(0);
    digits.iter().for_each(|&digit| decimal.multiply_add(10, digit.into()));
    let (mut scale, mut numerator) = (Natural::new(1), decimal);
    if exponent < 0 {
        scale = scale.times_power_of_ten(exponent.unsigned_abs());
    } else {
        numerator = numerator.times_power_of_ten(exponent.unsigned_abs());
    }
    loop {
        let (mantissa, _) = decompose(value);
        let even = mantissa.is_multiple_of(2);
        match against_midpoint(&numerator, &scale, value) {
            Ordering::Less => {}
            Ordering::Equal if even => {}
            _ => {
                value = value.next_up();
                if value.is_infinite() {
                    return None;
                }
                continue;
            }
        }
        if value == 0.0 {
            return Some(value);
        }
        match against_midpoint(&numerator, &scale, value.next_down()) {
            Ordering::Greater => return Some(value),
            Ordering::Equal if even => return Some(value),
            _ => value = value.next_down(),
        }
    }
}

/// The comparison of `numerator / scale` with the midpoint of `value` (not negative) and the next number above it.
fn against_midpoint(numerator: &Natural, scale: &Natural, value: f64) -> Ordering {
    let (mantissa, exponent) = decompose(value);
    // The midpoint is (2 mantissa + 1) 2^(exponent - 1).
    let exponent = exponent - 1;
    let midpoint = multiply(scale, 2 * mantissa + 1).times_power_of_two(exponent.max(0).unsigned_abs());
    numerator.clone().times_power_of_two((-exponent).max(0).unsigned_abs()).cmp(&midpoint)
}

fn multiply(number: &Natural, factor: u64) -> Natural {
    let mut high = number.clone();
    high.multiply_add((factor >> 32) as u32, 0);
    let mut low = number.clone();
    low.multiply_add(factor as u32, 0);
    high.times_power_of_two(32).plus(&low)
}

const LEAST_EXPONENT: i32 = -1074;

/// `mantissa × 2^exponent` of a number that is finite and not negative.
fn decompose(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52) as i32 {
        0 => (fraction, LEAST_EXPONENT),
        biased => (fraction | 1 << 52, biased - 1 + LEAST_EXPONENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand::{Rng, RngExt, SeedableRng};

    fn written(value: f64) -> String {
        Json(value).to_string()
    }

    /// Powers, halves, neighbours and ends of the range, all exact ties among the shortest, and random bits.
    fn numbers() -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut numbers =
            vec![0.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, 9_007_199_254_740_993.0, 0.1 + 0.2, 1e21, 1e23];
        for exponent in -1074..1024 {
            let power = libm::exp2(f64::from(exponent));
            numbers.extend([power, power.next_up(), power.next_down().abs()]);
        }
        for exponent in -323..309 {
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            numbers.extend([power, power.next_up(), power.next_down()]);
        }
        numbers.extend((65_536..131_072).step_by(101).map(|numerator| f64::from(numerator) / 131_072.0));
        for _ in 0..20_000 {
            numbers.push(f64::from_bits(rng.next_u64() >> 1));
            numbers.push(rng.random::<f64>() * 1000.0);
            numbers.push(f64::from(rng.random::<i32>()) / 1000.0);
        }
        numbers.retain(|number| number.is_finite());
        numbers
    }

    /// Against an independent implementation, since the digest of every task depends on it.
    #[test]
    fn numbers_are_written_as_serde_json_writes_them_and_read_back_to_the_bit() {
        for number in numbers() {
            for number in [number, -number] {
                let text = written(number);
                assert_eq!(text, serde_json::to_string(&number).unwrap(), "{:x}", number.to_bits());
                assert_eq!(parse(&text).unwrap().to_bits(), number.to_bits(), "{text}");
            }
        }
    }

    /// Against the standard library: digits at random, and midpoints written out in full, a digit more and a digit
    /// less.
    #[test]
    fn decimals_are_read_as_the_standard_library_reads_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut texts: Vec<String> =
            ["0", "-0", "00", "0.0e99", "1e400", "1e-400", "1e99999999999999999999", "0e99999999999"]
                .map(str::to_owned)
                .to_vec();
        texts.extend(
            ["179769313486231580793e289", "2.4703282292062327e-324", "2.4703282292062328e-324"].map(str::to_owned),
        );
        for _ in 0..20_000 {
            let digits: String =
                (0..rng.random_range(1..40)).map(|_| char::from(b'0' + rng.random_range(0..10u8))).collect();
            let point = rng.random_range(1..=digits.len());
            let fraction = if point < digits.len() { format!(".{}", &digits[point..]) } else { String::new() };
            texts.push(format!("{}{fraction}e{}", &digits[..point], rng.random_range(-345..330)));
            // An odd number of 54 bits is halfway between two numbers.
            let midpoint = (rng.random_range(1u128 << 53..1 << 54) | 1) << rng.random_range(0..70);
            texts.extend([midpoint - 1, midpoint, midpoint + 1].map(|number| number.to_string()));
        }
        for (mantissa, next) in [(9_007_199_254_740_993u64, 0), (9_007_199_254_740_995, 1), (18_014_398_509_481_990, 0)]
        {
            texts.push(format!("{mantissa}"));
            texts.push(format!("{mantissa}.{}{next}", "0".repeat(1000)));
            texts.push(format!("{mantissa}{}.0{next}e-900", "0".repeat(900)));
        }
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            match parse(&text) {
                Some(found) => assert_eq!(found.to_bits(), expected.to_bits(), "{text}"),
                None => assert!(expected.is_infinite(), "{text}"),
            }
        }
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in
            ["", "-", ".", ".5", "5.", "1e", "1e+", "1e5.0", "+1", "1 ", "0x1", "1_0", "inf", "NaN", "--1", "1..2"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn messages_show_numbers_as_the_standard_library_does() {
        for number in numbers() {
            for number in [number, -number] {
                let plain = number == 0.0 || (1e-8..1e16).contains(&number.abs());
                let theirs = if plain { number.to_string() } else { format!("{number:e}") };
                let ours = Decimal(number).to_string();
                // Of two decimals equally near, the standard library takes the larger and we the even one.
                assert_eq!(
                    (ours.len(), ours.parse().ok().map(f64::to_bits)),
                    (theirs.len(), Some(number.to_bits())),
                    "{theirs}"
                );
            }
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 180.0, -0.25, 1e-7, 1e-8, 1e15, -0.0] {
            assert_eq!(Decimal(value).to_string(), value.to_string());
        }
        let far = [1e-300, 1e200, -9.9e-9, 1e16, f64::from_bits(1)].map(|value| Decimal(value).to_string());
        assert_eq!(far, ["1e-300", "1e200", "-9.9e-9", "1e16", "5e-324"]);
        for (value, places, expected) in
            [(4.96e-4, 1, "5.0e-4"), (-9.996, 2, "-1.00e1"), (2.0, 3, "2.000e0"), (0.0, 1, "0")]
        {
            assert_eq!(Scientific(value, places).to_string(), expected);
        }
    }

    #[test]
    fn thousands_are_separated_and_one_of_many_has_no_s() {
        assert_eq!([0, 999, 1000, 494_021, 1_000_000].map(grouped), ["0", "999", "1,000", "494,021", "1,000,000"]);
        assert_eq!([0, 1, 2000].map(|count| plural(count, "report")), ["0 reports", "1 report", "2,000 reports"]);
    }
}
