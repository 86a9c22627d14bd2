//! Which rank of a parallel job a process is: its launcher says so in the environment.

use memtoll_trace::meta::Rank;
use std::io::Read;

/// Variables with the rank, and with the number of ranks, if the launcher sets one. Those of MPI come before those of the
/// resource manager that may have started it: its tasks need not be ranks.
const VARIABLES: [(&str, Option<&str>); 8] = [
    ("OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")), // Open MPI
    ("MV2_COMM_WORLD_RANK", Some("MV2_COMM_WORLD_SIZE")),   // MVAPICH
    ("PMI_RANK", Some("PMI_SIZE")),                         // MPICH, Intel MPI
    ("MPI_RANKID", Some("MPI_NRANKS")),                     // Platform MPI
    ("PALS_RANKID", Some("PALS_SIZE")),                     // HPE Cray
    ("FLUX_TASK_RANK", Some("FLUX_JOB_SIZE")),              // Flux
    ("PMIX_RANK", None),                                    // anything with PMIx
    // Slurm: only srun sets the second one. A batch script has a SLURM_PROCID of 0 and is no rank.
    ("SLURM_PROCID", Some("SLURM_STEP_NUM_TASKS")),
];

/// The rank in an environment. A job of one process has none.
fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Rank> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let found = VARIABLES.iter().find_map(|(rank, ranks)| {
        let rank = Rank { rank: number(rank)?, ranks: ranks.and_then(number) };
        (ranks.is_none() || rank.ranks.is_some()).then_some(rank)
    });
    found.filter(|found| found.ranks != Some(1))
}

/// This process's own rank.
pub fn own() -> Option<Rank> {
    of_environment(|name| std::env::var(name).ok())
}

/// The rank of a process, from the environment that it started with.
pub fn of_process(pid: u32) -> Option<Rank> {
    /// Longest environment that is read, bytes: as long as one that Linux lets a program have by default.
    const LONGEST: u64 = 2 << 20;
    let mut environment = Vec::with_capacity(4096);
    std::fs::File::open(format!("/proc/{pid}/environ")).ok()?.take(LONGEST).read_to_end(&mut environment).ok()?;
    of_environment(|name| {
        let mut words = environment.split(|byte| *byte == 0);
        let value = words.find_map(|word| word.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        String::from_utf8(value.to_vec()).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(environment: &[(&str, &str)]) -> Option<(u32, Option<u32>)> {
        let value = |name: &str| environment.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        of_environment(value).map(|found| (found.rank, found.ranks))
    }

    #[test]
    fn launchers_say_which_rank_a_process_is() {
        assert_eq!(rank(&[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")]), Some((3, Some(4))));
        assert_eq!(rank(&[("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MPI_LOCALRANKID", "0")]), Some((0, Some(2))));
        assert_eq!(rank(&[("PMIX_RANK", "7")]), Some((7, None)));
        let slurm = [("SLURM_PROCID", "5"), ("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_NTASKS", "8")];
        assert_eq!(rank(&slurm), Some((5, Some(8))));
    }

    #[test]
    fn no_rank_is_taken_for_one() {
        assert_eq!(rank(&[]), None);
        assert_eq!(rank(&[("OMPI_COMM_WORLD_RANK", "first"), ("OMPI_COMM_WORLD_SIZE", "4")]), None);
        // A batch script of Slurm's, and jobs of one process.
        assert_eq!(rank(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), None);
        assert_eq!(rank(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("PMI_RANK", "x")]), None);
        assert_eq!(rank(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
    }

    #[test]
    fn a_rank_that_mpi_tells_comes_before_a_task_of_the_resource_manager() {
        let both = [
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("OMPI_COMM_WORLD_RANK", "9"),
            ("OMPI_COMM_WORLD_SIZE", "64"),
        ];
        assert_eq!(rank(&both), Some((9, Some(64))));
    }
}
