mod rig;
mod rules;
mod sequences;
