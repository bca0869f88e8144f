//! Wire and log messages, and their translation from and to the engine's types.
//!
//! The `.proto` files beside this crate are the contract; the code is generated from them at build time. Wire types
//! parse, the engine's types validate: [`convert`] is the one place where the two meet. Every conversion from the wire
//! checks what the engine's type demands and names the field at fault.

pub mod calls;
pub mod clients;
pub mod convert;
pub mod play_stream;
pub mod wire;

/// Words that all services share.
pub mod round {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.round.v1");
    }
}

/// Playing rounds.
pub mod spin {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.spin.v1");
    }
}

/// Accounts, wallet, rates, history.
pub mod ledger {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.ledger.v1");
    }
}

/// Jackpot figures and administration.
pub mod jackpot {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.jackpot.v1");
    }
}

/// The log's records.
pub mod log {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.log.v1");
    }
}

/// Reports to operators and regulators.
pub mod report {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.report.v1");
    }
}

/// Checkpoints and proofs of the log.
pub mod proof {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.proof.v1");
    }
}

/// Long work on demand.
pub mod job {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.job.v1");
    }
}

/// An operator's own wallet: what the operator implements, and this project calls.
pub mod wallet {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.wallet.v1");
    }
}

/// All files' descriptors, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("motherlode");
