mod rig;
mod rules;
mod sequences;
#[cfg(feature = "unstable-kip-1289")]
mod shares;
