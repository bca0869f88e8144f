use super::model::{BASE_LINES, GAMBLES_MAX, HOLD_AND_WIN, Model};
use crate::contract::carried::Carried;
use crate::contract::draws::Draws;
use crate::contract::outcome::{Awaiting, Card, Outcome, Prize, SpinKind};
use crate::contract::round::{Choice, ChoiceRefused, Round, Terms};
use crate::contract::stake::{Stake, StakeRefused};
use crate::parts::gamble::ColourGamble;
use crate::parts::hold_and_win::Board;
use crate::parts::windows::LineBet;

#[derive(Debug)]
pub struct MysteryElvesRound<'a> {
    model: &'a Model,
    bet: LineBet,
    bought: bool,
    /// Limit of the gamble in minor units; 0 if no gamble is offered.
    gamble_max_minor: u64,
    awaiting: Awaiting,
    board: Board,
    gamble: Option<ColourGamble>,
    /// Without the gamble.
    win_coins: u64,
}

impl<'a> MysteryElvesRound<'a> {
    pub fn new(model: &'a Model, stake: &Stake, terms: &Terms) -> Result<Self, StakeRefused> {
        let (bet_coins, _) = model.check(stake)?;
        Ok(Self {
            model,
            bet: LineBet::new(stake, terms, u64::from(bet_coins)),
            bought: stake.buy_feature,
            gamble_max_minor: if terms.double { terms.gamble_max_minor } else { 0 },
            awaiting: Awaiting::Spin,
            board: Board::default(),
            gamble: None,
            win_coins: 0,
        })
    }

    fn check(&self, choice: &Choice) -> Result<(), ChoiceRefused> {
        if self.awaiting != choice.awaited() {
            return Err(ChoiceRefused::NotAwaited { awaiting: self.awaiting });
        }
        let refused = |what| Err(ChoiceRefused::NotOffered { what });
        match (choice, &self.gamble) {
            (Choice::Double(Card::RedHeart | Card::BlackSpade), Some(gamble)) if gamble.doubles() => Ok(()),
            (Choice::Double(Card::RedHeart | Card::BlackSpade), _) => refused("the win exceeds the gamble limit"),
            (Choice::Double(_), _) => refused("a guess must be a red heart or a black spade"),
            (Choice::Halve, Some(gamble)) if !gamble.halves() => {
                refused("the gambled amount is too small to be halved")
            }
            _ => Ok(()),
        }
    }

    fn spin(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let windows = if self.bought { &self.model.bought } else { &self.model.windows };
        let coins = windows.spin(&self.bet, 1, SpinKind::Base, draws, out).line_coins;
        self.win_coins += coins;
        out.part_coins[BASE_LINES] += coins;
        if self.model.hold_and_win.land(&mut self.board, draws, out) {
            self.awaiting = Awaiting::Feature;
        } else {
            self.offer_gamble();
        }
    }

    fn feature(&mut self, draws: &mut Draws, out: &mut Outcome) {
        let multiple = self.model.hold_and_win.play(&mut self.board, draws, out);
        let coins = multiple * self.bet.bet_coins;
        self.win_coins += coins;
        out.part_coins[HOLD_AND_WIN] += coins;
        out.prize = Some(Prize::Coins { multiple: u32::try_from(multiple).unwrap_or(u32::MAX), coins });
        self.offer_gamble();
    }

    fn offer_gamble(&mut self) {
        self.gamble = ColourGamble::new(
            self.bet.worth.minor(self.win_coins),
            GAMBLES_MAX,
            self.gamble_max_minor,
            self.model.gamble,
        );
        self.await_gamble();
    }

    fn await_gamble(&mut self) {
        let open = self.gamble.as_ref().is_some_and(ColourGamble::open);
        self.awaiting = if open { Awaiting::Double } else { Awaiting::Nothing };
    }

    fn gamble(&mut self, choice: Choice, draws: &mut Draws, out: &mut Outcome) {
        if let Some(gamble) = &mut self.gamble {
            match choice {
                Choice::Double(guess) => out.card = Some(gamble.turn(guess, draws)),
                _ => out.credited_minor = gamble.halve(),
            }
        }
        self.await_gamble();
    }
}

impl Round for MysteryElvesRound<'_> {
    fn awaiting(&self) -> Awaiting {
        self.awaiting
    }

    fn resolve(&mut self, choice: &Choice, draws: &mut Draws, out: &mut Outcome) -> Result<(), ChoiceRefused> {
        out.clear();
        self.check(choice)?;
        match *choice {
            Choice::Spin => self.spin(draws, out),
            Choice::StartFeature => self.feature(draws, out),
            Choice::Double(_) | Choice::Halve => self.gamble(*choice, draws, out),
            Choice::Collect | Choice::Pick(_) | Choice::StartFreeSpins => self.awaiting = Awaiting::Nothing,
        }
        out.awaiting = self.awaiting;
        out.round_win_coins = self.win_coins;
        match &self.gamble {
            Some(gamble) => {
                out.double_strip = gamble.strip();
                out.round_win_minor = gamble.win_minor();
            }
            None => out.round_win_minor = self.bet.worth.minor(self.win_coins),
        }
        Ok(())
    }

    fn reopen(&mut self, _carried: &Carried) {
        self.awaiting = Awaiting::Spin;
        self.board = Board::default();
        self.gamble = None;
        self.win_coins = 0;
    }
}
