//! Messages of calls and of the log, generated from the `.proto` files, and their conversion to types of the engine.
//! Decoding a generated type checks only the encoding. [`convert`] also validates the values, and its errors name the
//! invalid field.

pub mod calls;
pub mod clients;
pub mod codec;
pub mod convert;
pub mod play_stream;
pub mod wire;

pub type RpcResult<T> = Result<tonic::Response<T>, tonic::Status>;

pub mod round {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.round.v1");
    }
}

pub mod spin {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.spin.v1");
    }
}

pub mod ledger {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.ledger.v1");
    }
}

pub mod jackpot {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.jackpot.v1");
    }
}

pub mod log {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.log.v1");
    }
}

pub mod report {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.report.v1");
    }
}

pub mod proof {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.proof.v1");
    }
}

pub mod admin {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.admin.v1");
    }
}

pub mod job {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.job.v1");
    }
}

/// Service that each operator with a seamless wallet implements.
pub mod wallet {
    #[allow(missing_docs, clippy::all, rustdoc::invalid_html_tags)]
    pub mod v1 {
        tonic::include_proto!("motherlode.wallet.v1");
    }
}

pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("motherlode");
