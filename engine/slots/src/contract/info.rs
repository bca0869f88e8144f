use crate::contract::stake::StakeLimits;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameInfo {
    pub title: String,
    pub rules_text: String,
    pub reels: u32,
    pub rows: u32,
    pub symbols: Vec<SymbolInfo>,
    pub paytable: Vec<PayRow>,
    /// For each line, its row on each reel; 0 is the top row.
    pub lines: Vec<Vec<u8>>,
    pub ways: bool,
    pub rows_max: u32,
    pub limits: StakeLimits,
    pub buy_feature_bets: Option<u32>,
    pub picks_of: u8,
    /// Whether the bonus starts only from Bonus symbols on an active line (NP-09).
    pub bonus_on_line: bool,
    pub picks: (u8, u8),
    pub multipliers: Vec<u32>,
    /// Lowest and highest return over all stakes, including the jackpot, in millionths (BW-21).
    pub rtp_span_micros: Option<(u64, u64)>,
    pub jackpot_assumes: String,
    pub prizes: Vec<PrizeInfo>,
    pub specials: Vec<SpecialInfo>,
    pub values: Vec<ValueSet>,
    pub combinations: Vec<FeatureCombination>,
    pub jackpot: bool,
    /// Names of the characters from which the player picks one before the first spin (BW-05), numbered from 1.
    pub companions: &'static [&'static str],
    pub doubles_max: u32,
    /// Whether the gamble offers `Halve` (ME-16).
    pub halve: bool,
    pub autoplay: Autoplay,
    pub free_spin_multiplier: u32,
    pub collection_needs: u32,
}

impl GameInfo {
    #[must_use]
    pub fn companion(&self, number: i64) -> Option<&'static str> {
        self.companions.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Autoplay {
    pub loss: AutoplayLoss,
    /// Whether only a win above the limit ends an autoplay series (ME-19); otherwise, a win equal to the limit also
    /// ends it (BW-25, WF-19).
    pub ends_above_win: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutoplayLoss {
    /// Autoplay ends when its loss exceeds the loss limit (BW-25, ME-19).
    #[default]
    Passed,
    /// Autoplay ends when its loss reaches the loss limit (WF-19).
    Reached,
    /// Autoplay ends before a bet whose loss could exceed the loss limit (DM-26).
    Prevented,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub key: &'static str,
    pub title: &'static str,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolInfo {
    pub name: String,
    pub short: String,
    /// Symbol's two-letter code, unique within the game.
    pub code: String,
    pub role: SymbolRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SymbolRole {
    Regular,
    Wild,
    Scatter,
    Bonus,
    FreeSpins,
    Collected,
    SuperHigh,
    Question,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayRow {
    pub symbol: u8,
    pub count: u8,
    /// Pay as a multiple of the coins per line (line wins) or of the total bet (scatter wins), or in coins per way (ways
    /// wins).
    pub pays: u64,
    pub free_spins: u32,
    pub scatter: bool,
    pub bonus: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrizeInfo {
    Jackpot,
    Multiple(u32),
    FreeSpins(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSet {
    pub key: &'static str,
    pub title: &'static str,
    pub values: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureCombination {
    pub feature: &'static str,
    pub symbols: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialInfo {
    pub name: String,
    pub bets: u32,
}
