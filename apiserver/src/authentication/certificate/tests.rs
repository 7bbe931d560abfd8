use std::time::SystemTime;

use super::*;

struct At(u64);

impl Clock for At {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0)
    }
}

fn finding(since: i64, until: i64) -> Finding {
    Finding { generation: 1, since, until, proxy: Verdict::Silent, user: Verdict::Silent }
}

/// What was found out holds for its time, also if clocks are put back.
#[test]
fn a_finding_has_its_time() {
    let finding = finding(100, 200);
    assert_eq!([99, 100, 199, 200].map(|seconds| finding.holds_at(seconds)), [false, true, true, false]);
}

/// Who looks again when it ends looks neither all the time nor never.
#[test]
fn a_finding_lasts_until_its_end() {
    let lasts = |until, now| finding(0, until).lasts(&At(now));
    assert_eq!(lasts(200, 150), Duration::from_secs(50));
    assert_eq!(lasts(200, 300), Duration::from_secs(1));
    assert_eq!(lasts(i64::MAX, 0), Duration::from_secs(86_400));
}
