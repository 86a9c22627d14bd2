//! Dates.

const UNKNOWN_DATE: &str = "unknown date";

/// The date and time of nanoseconds since 1970, in UTC: `2026-11-21 14:05`; 0 is no date, but one that is not
/// known.
pub fn date(nanoseconds: u64) -> String {
    if nanoseconds == 0 {
        return UNKNOWN_DATE.to_owned();
    }
    let minutes = nanoseconds / 60_000_000_000;
    let days = minutes / (24 * 60);
    // Years that begin in March have their leap day at the end; 400 of them have 146,097 days (Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms").
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let of = |seconds: u64| date(seconds * 1_000_000_000);
        assert_eq!(
            [0, 60, 951_782_400, 1_795_269_900].map(of),
            ["unknown date", "1970-01-01 00:01", "2000-02-29 00:00", "2026-11-21 14:05"]
        );
    }
}
