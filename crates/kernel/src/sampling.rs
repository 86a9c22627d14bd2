//! How many faults are sampled: every one, as long as that is cheap.
//!
//! A sample costs 0.6 us, a good third of a fault. So there is an allowance, like a bucket that fills with a share of the
//! tree's processor time and that each sample takes from. When it is empty, one fault in [`COARSE`] is sampled, which costs
//! at most 2.3 % even of a program that does nothing but fault; when it is full again, every fault is.
//!
//! The period of an event cannot be changed in processes that have inherited it, but events can be switched on and off
//! there. So both periods are events of their own, one of them on.

/// Faults a sample stands for when sampling. A prime: programs touch pages in powers of two.
pub const COARSE: u32 = 17;

/// Nanoseconds a sample costs the target.
const SAMPLE: i64 = 600;

/// Of the tree's processor time, in percent, that samples may cost in the long run.
const SHARE: i64 = 3;

/// What may be spent at once, in nanoseconds: the first 16,384 faults are exact, of which the recorder takes some thousands.
const FULL: i64 = 16_384 * SAMPLE;

/// The allowance, and which of the two fault sets is on.
#[derive(Debug)]
pub struct Allowance {
    left: i64,
    coarse: bool,
    cpu: u64,
}

impl Allowance {
    pub fn new() -> Allowance {
        Allowance { left: FULL, coarse: false, cpu: 0 }
    }

    /// The rings overflow, or nearly: nothing is left to spend until the allowance is full again.
    pub fn exhaust(&mut self) {
        self.left = self.left.min(-1);
    }

    /// Takes `samples` made since the last call; `cpu` is the tree's processor time in nanoseconds since its start.
    /// Returns whether only one fault in [`COARSE`] is to be sampled from now on.
    pub fn update(&mut self, cpu: u64, samples: u64) -> bool {
        let earned = cpu.saturating_sub(self.cpu) as i64 / 100 * SHARE;
        self.cpu = self.cpu.max(cpu);
        self.left = (self.left + earned - samples as i64 * SAMPLE).min(FULL);
        self.coarse = if self.coarse { self.left < FULL } else { self.left < 0 };
        self.coarse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that takes `rate` faults a second of processor time, looked at every 10 ms for `seconds`. Returns the
    /// share of processor time spent on samples, and how often the sets were switched.
    fn run(allowance: &mut Allowance, cpu: &mut u64, rate: u64, seconds: u64) -> (f64, u32) {
        let (mut coarse, mut spent, mut switches) = (allowance.coarse, 0, 0);
        for _ in 0..seconds * 100 {
            *cpu += 10_000_000;
            let faults = rate / 100;
            let samples = if coarse { faults / u64::from(COARSE) } else { faults };
            spent += samples * SAMPLE as u64;
            let next = allowance.update(*cpu, samples);
            switches += u32::from(next != coarse);
            coarse = next;
        }
        (spent as f64 / (seconds * 1_000_000_000) as f64, switches)
    }

    #[test]
    fn few_faults_are_all_sampled() {
        let (mut allowance, mut cpu) = (Allowance::new(), 0);
        assert_eq!(run(&mut allowance, &mut cpu, 40_000, 10), (0.024, 0));
    }

    #[test]
    fn many_faults_cost_no_more_than_the_allowance() {
        for rate in [60_000, 100_000, 300_000, 640_000, 850_000] {
            let (share, switches) = run(&mut Allowance::new(), &mut 0, rate, 20);
            assert!(share < 0.031, "{rate} faults/s: {share}");
            assert!(switches < 20 * 10, "{rate} faults/s: {switches} switches");
        }
    }

    #[test]
    fn an_allowance_that_is_exhausted_fills_again() {
        let mut allowance = Allowance::new();
        allowance.exhaust();
        assert!(allowance.update(0, 0), "one fault in 17 from now on");
        let second = 1_000_000_000;
        assert!(allowance.update(second / 4, 0), "3 % of a quarter of a second do not fill it");
        assert!(!allowance.update(second, 0));
    }

    #[test]
    fn when_a_storm_is_over_every_fault_is_sampled_again() {
        let (mut allowance, mut cpu) = (Allowance::new(), 0);
        run(&mut allowance, &mut cpu, 640_000, 5);
        run(&mut allowance, &mut cpu, 1_000, 2);
        assert!(!allowance.coarse);
        // A quiet hour does not pay for a storm that comes after it.
        run(&mut allowance, &mut cpu, 0, 3600);
        assert!(run(&mut allowance, &mut cpu, 640_000, 1).0 < 0.05);
    }
}
