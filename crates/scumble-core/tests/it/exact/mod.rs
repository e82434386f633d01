//! Every neighbour pair and every output of small cases, in exact rationals.

mod dp;
