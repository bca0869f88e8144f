use super::round::{Named, name};
use crate::{failure::Failure, layout, visit::Visit};
use axum::response::Response;
use maud::html;
use motherlode_proto::proof::v1::{GetRoundProofRequest, GetRoundProofResponse};

const PROOF_MAX: usize = 64_000;

pub(crate) async fn page(named: Named, visit: Visit) -> Result<Response, Failure> {
    let round_id = name(named);
    let path = format!("/round/{round_id}");
    let request = GetRoundProofRequest { round_id: round_id.clone(), ..GetRoundProofRequest::default() };
    let GetRoundProofResponse { proof, verifier_key } = visit.api.proof().get_round_proof(request).await?.into_inner();
    let fits = proof.len() <= PROOF_MAX;
    let content = html! {
        p { "Your browser checks that the log's key signed a checkpoint, that the round's records are in the log of that \
             checkpoint, and that each draw matches its earlier seal. Nothing is sent." }
        noscript {
            p.notice { "The check needs JavaScript, which is off. Without JavaScript, download the proof and check it with " code { "motherlode verify" } "." }
        }
        form #check data-round=(round_id) {
            label for="key" { "The log's public key" }
            input #key name="key" value=(verifier_key) required maxlength="400" autocomplete="off" spellcheck="false" aria-describedby="whose";
            p.soft #whose { "This key comes from the service. Replace it with a copy from a source that you trust." }
            label for="proof" { "The proof" }
            textarea #proof name="proof" rows="8" required spellcheck="false" { @if fits { (proof) } }
            @if !fits { p.soft { "This long proof is not filled in automatically: download it, and paste it here." } }
            button type="submit" disabled { "Check it here" }
        }
        p #verdict role="status" {}
        ul #results {}
        p.soft { "The browser does not compute the outcome of each step again from its seed. To check these outcomes too, \
                 pass the same proof and key to " code { "motherlode verify" } "." }
        ul.links {
            li { a href=(path) { "Back to the round" } }
            li { a href={ (path) "/proof" } { "Download proof" } }
        }
        script type="module" src="/check.js" {}
    };
    Ok(layout::page(&visit, &format!("Check round {round_id}"), content).await)
}
