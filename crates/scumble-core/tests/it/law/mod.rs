//! Statistical laws, each with its alpha and a planted fault.

mod noise;
mod projection;
