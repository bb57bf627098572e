//! Natural numbers of any size, with just the arithmetic that exact conversion to and from decimals needs.

use core::cmp::Ordering;

/// Digits in base 2^32, the lowest first, without leading zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Natural(Vec<u32>);

impl Natural {
    pub(super) fn new(value: u64) -> Self {
        let mut number = Self(vec![value as u32, (value >> 32) as u32]);
        number.trim();
        number
    }

    /// The number times `factor`, plus `addend`.
    pub(super) fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for digit in &mut self.0 {
            carry += u64::from(*digit) * u64::from(factor);
            *digit = carry as u32;
            carry >>= 32;
        }
        if carry != 0 {
            self.0.push(carry as u32);
        }
        self.trim();
    }

    pub(super) fn times_power_of_ten(mut self, exponent: u32) -> Self {
        for _ in 0..exponent / 9 {
            self.multiply_add(1_000_000_000, 0);
        }
        self.multiply_add(10u32.pow(exponent % 9), 0);
        self
    }

    pub(super) fn times_power_of_two(mut self, exponent: u32) -> Self {
        self.multiply_add(1 << (exponent % 32), 0);
        self.0.splice(..0, core::iter::repeat_n(0, exponent as usize / 32));
        self.trim();
        self
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut carry = 0;
        let mut digits: Vec<u32> = (0..self.0.len().max(other.0.len()))
            .map(|index| {
                carry += u64::from(self.digit(index)) + u64::from(other.digit(index));
                let digit = carry as u32;
                carry >>= 32;
                digit
            })
            .collect();
        digits.push(carry as u32);
        let mut sum = Self(digits);
        sum.trim();
        sum
    }

    /// Subtracts a number that is not larger.
    pub(super) fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (index, digit) in self.0.iter_mut().enumerate() {
            let (less, under) = digit.overflowing_sub(other.digit(index));
            let (less, under_again) = less.overflowing_sub(u32::from(borrow));
            *digit = less;
            borrow = under || under_again;
        }
        self.trim();
    }

    fn digit(&self, index: usize) -> u32 {
        self.0.get(index).copied().unwrap_or(0)
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
