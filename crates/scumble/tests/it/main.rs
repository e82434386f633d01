//! All integration tests in one binary, so that linking stays cheap.

mod audit;
mod certificate;
mod estimates;
mod exact_dp;
mod faults;
mod fuzz;
mod io_malformed;
mod io_memory;
mod io_read;
mod io_support;
mod io_write;
mod longitudinal;
mod mnist;
mod noise;
mod oracle;
mod plan_data;
mod projection;
mod projection_laws;
mod record;
mod reference;
mod refusals;
mod support;
mod symbols;
mod symbols_data;
mod timing;
