//! Layouts of the structures that are passed to the driver: against the numbers of a 64-bit host, and, where an SDK is
//! at hand (`HEXAGON_SDK_ROOT`), against the SDK's own headers.

use crate::bindings::*;

macro_rules! layout {
    ($type:ty, $size:literal, { $($($field:ident).+: $offset:literal,)* }) => {
        assert_eq!(size_of::<$type>(), $size, concat!("size of ", stringify!($type)));
        $(assert_eq!(std::mem::offset_of!($type, $($field).+), $offset, stringify!($type.$($field).+));)*
    };
}

#[cfg(target_pointer_width = "64")]
#[test]
fn structures_have_the_layout_of_a_64_bit_host() {
    layout!(remote_buf, 16, { pv: 0, nLen: 8, });
    layout!(remote_arg, 16, { buf: 0, h: 0, h64: 0, });
    layout!(remote_dsp_capability, 12, { domain: 0, attribute_ID: 4, capability: 8, });
    layout!(remote_rpc_control_unsigned_module, 8, { domain: 0, enable: 4, });
    layout!(remote_rpc_process_clean_params, 4, { domain: 0, });
    layout!(remote_rpc_control_latency, 8, { enable: 0, latency: 4, });
    layout!(remote_rpc_reserve_new_session, 40, {
        domain_name: 0, domain_name_len: 8, session_name: 16, session_name_len: 24, effective_domain_id: 28,
        session_id: 32,
    });
    layout!(remote_rpc_get_uri, 48, {
        domain_name: 0, domain_name_len: 8, session_id: 12, module_uri: 16, module_uri_len: 24, uri: 32, uri_len: 40,
    });
    layout!(dspqueue_buffer, 24, { fd: 0, size: 4, offset: 8, flags: 12, __bindgen_anon_1: 16, });
}

#[cfg(hexagon_sdk)]
#[allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals, dead_code)]
#[allow(clippy::undocumented_unsafe_blocks)]
mod sdk {
    include!(concat!(env!("OUT_DIR"), "/sdk.rs"));
}

#[cfg(hexagon_sdk)]
#[test]
fn structures_have_the_layout_of_the_sdk() {
    use std::mem::offset_of;
    macro_rules! same {
        ($type:ident: $($field:ident)+) => {
            assert_eq!(size_of::<$type>(), size_of::<sdk::$type>(), concat!("size of ", stringify!($type)));
            $(assert_eq!(offset_of!($type, $field), offset_of!(sdk::$type, $field), stringify!($type.$field));)+
        };
    }
    same!(remote_buf: pv nLen);
    same!(remote_arg: buf h h64);
    same!(remote_dsp_capability: domain attribute_ID capability);
    same!(remote_rpc_control_unsigned_module: domain enable);
    same!(remote_rpc_process_clean_params: domain);
    same!(remote_rpc_control_latency: enable latency);
    same!(remote_rpc_reserve_new_session:
        domain_name domain_name_len session_name session_name_len effective_domain_id session_id);
    same!(remote_rpc_get_uri: domain_name domain_name_len session_id module_uri module_uri_len uri uri_len);
    same!(dspqueue_buffer: fd size offset flags);
}
