//! Normalisation of rows: RMS_NORM, `dst[i] = src[i] / sqrt(mean(src^2) + eps)`.

use super::claim::{self, source, Claim, SAME, SAME_SHAPE};
use super::{Declined, Family, Params};
use crate::batch::wire;
use crate::ggml::bindings as ggml;
use crate::ggml::tensor::{ElementType, Tensor};

/// See the module. `htp_norm_params` has eps first, where ggml keeps it.
pub const FAMILY: Family = Family { name: "norm", select, supports, sources: 1, tiled_source: None, params };

fn select(node: Tensor) -> Option<wire::htp_op> {
    (node.op() == ggml::GGML_OP_RMS_NORM).then_some(wire::HTP_OP_RMS_NORM)
}

/// See [`claim`].
pub const CLAIMS: &[Claim] = &[Claim {
    ops: &[wire::HTP_OP_RMS_NORM],
    sources: &[source("rows")],
    types: &[&[&[ElementType::F32], SAME]],
    rules: &[SAME_SHAPE],
}];

fn supports(node: Tensor) -> Result<(), Declined> {
    claim::check(CLAIMS, select(node), node)
}

fn params(node: Tensor) -> Params {
    let mut params = Params::default();
    params[0] = node.params()[0];
    params
}

#[cfg(test)]
mod tests {
    use super::{params, supports};
    use crate::ggml::bindings::*;
    use crate::ggml::tensor::test::{node, tensor, view};
    use crate::ggml::tensor::ElementType::*;

    #[test]
    fn eps_goes_onto_the_wire() {
        let mut x = tensor(F32, [5, 3, 1, 1]);
        let mut norm = node(GGML_OP_RMS_NORM, F32, [5, 3, 1, 1], &mut [&mut x]);
        norm.op_params[0] = 1e-5f32.to_bits() as i32;
        assert!(supports(view(&norm)).is_ok());
        assert_eq!(params(view(&norm))[0], 1e-5f32.to_bits() as i32);
        let mut x = tensor(F16, [5, 3, 1, 1]);
        let norm = node(GGML_OP_RMS_NORM, F32, [5, 3, 1, 1], &mut [&mut x]);
        assert!(supports(view(&norm)).is_err());
    }
}
