pub fn sum(a: i32, b: i32) -> i32 { a + b }

/// ```
/// assert_eq!(sum::sum(1, 1), 2);
/// ```
pub fn doc() {}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() { assert_eq!(sum(1, 1), 2); }
    #[test]
    fn wrong() { assert_eq!(sum(1, 1), 3, "sums differ"); }
    #[test]
    #[ignore = "slow"]
    fn later() {}
    #[test]
    #[should_panic]
    fn panics() { panic!("yes"); }
}
