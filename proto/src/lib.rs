//! Wire and log messages, generated from the `.proto` files, and their conversion to the engine's types. Wire types
//! only parse; [`convert`] validates, and its errors name the field at fault.

pub mod calls;
pub mod clients;
pub mod convert;
pub mod play_stream;
pub mod wire;

/// Messages shared by all services.
pub mod round {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.round.v1");
    }
}

/// Rounds, sessions, campaigns.
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

/// Records of the log.
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

/// Long-running jobs.
pub mod job {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.job.v1");
    }
}

/// An operator's seamless wallet, implemented by the operator.
pub mod wallet {
    /// Version 1.
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.wallet.v1");
    }
}

/// Descriptors of all files, for server reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("motherlode");
