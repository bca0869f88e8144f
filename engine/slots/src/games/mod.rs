pub mod bewitched;
pub mod dwarf_mine;
pub mod ladders;
pub mod list;
pub mod mystery_elves;
pub mod neptune;
pub mod win_up_to;
pub mod witch_feature;
