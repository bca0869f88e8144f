use std::fmt;

#[derive(Debug, Clone)]
pub struct Report {
    pub url: String,
    pub cases: Vec<CaseReport>,
}

#[derive(Debug, Clone)]
pub struct CaseReport {
    pub number: u32,
    pub name: &'static str,
    pub contract: &'static str,
    pub calls: Vec<String>,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed(Vec<String>),
    Skipped(&'static str),
}

impl Report {
    pub fn failed(&self) -> impl Iterator<Item = &'static str> {
        self.cases.iter().filter(|case| matches!(case.verdict, Verdict::Failed(_))).map(|case| case.name)
    }

    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for case in &self.cases {
            match case.verdict {
                Verdict::Passed => counts[0] += 1,
                Verdict::Failed(_) => counts[1] += 1,
                Verdict::Skipped(_) => counts[2] += 1,
            }
        }
        counts
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Wallet at {}, contract motherlode.wallet.v1\n", self.url)?;
        self.cases.iter().try_for_each(|case| writeln!(f, "{case}"))?;
        let [passed, failed, skipped] = self.counts();
        writeln!(f, "{} cases: {passed} passed, {failed} failed, {skipped} skipped", self.cases.len())
    }
}

impl fmt::Display for CaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, name, contract, calls, verdict } = self;
        let short = match verdict {
            Verdict::Passed => "passed".to_owned(),
            Verdict::Failed(_) => "FAILED".to_owned(),
            Verdict::Skipped(why) => return writeln!(f, "{number:2} {name}: skipped, {why}"),
        };
        writeln!(f, "{number:2} {name}: {short}\n   contract: {contract}")?;
        calls.iter().try_for_each(|call| writeln!(f, "   {call}"))?;
        if let Verdict::Failed(faults) = verdict {
            faults.iter().try_for_each(|fault| writeln!(f, "   fault: {fault}"))?;
        }
        Ok(())
    }
}
