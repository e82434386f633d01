//! Arrow's PyCapsule interface: arrays come from Python and go there without a copy.
#![allow(unsafe_code)] // a capsule holds a pointer, and its name says to what

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, make_array};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Both capsules of an array.
type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// An array, or the pieces of one, of any library that speaks the interface.
pub struct Chunks(pub Vec<ArrayRef>);

impl<'a, 'py> FromPyObject<'a, 'py> for Chunks {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.getattr("__arrow_c_array__") {
            Ok(method) => Ok(Self(vec![array(&method.call0()?.extract()?)?])),
            Err(_) => stream(&object.call_method0("__arrow_c_stream__")?.extract()?).map(Self),
        }
    }
}

/// A record batch.
pub struct Table(pub RecordBatch);

impl<'a, 'py> FromPyObject<'a, 'py> for Table {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let array = array(&object.call_method0("__arrow_c_array__")?.extract()?)?;
        let columns = array.as_any().downcast_ref::<StructArray>().filter(|columns| columns.null_count() == 0);
        let columns = columns.ok_or_else(|| PyTypeError::new_err("give a record batch"))?;
        Ok(Self(columns.into()))
    }
}

/// An array on its way to Python.
#[pyclass(frozen, module = "scumble")]
pub struct Sketches(pub ArrayRef);

#[pymethods]
impl Sketches {
    /// The interface lets a producer keep its type whatever a consumer asks for.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        let _ = requested_schema;
        let (array, schema) = to_ffi(&self.0.to_data()).map_err(value_error)?;
        Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
    }
}

fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn pointer<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

fn array((schema, array): &Capsules<'_>) -> PyResult<ArrayRef> {
    let (schema, array) = (pointer::<FFI_ArrowSchema>(schema, SCHEMA)?, pointer::<FFI_ArrowArray>(array, ARRAY)?);
    // SAFETY: the names were checked, so the interface promises these types. The array moves out and leaves a released one
    // behind; the schema stays with its capsule, which lives until we return.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(value_error)
}

fn stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<Vec<ArrayRef>> {
    let pointer = pointer::<FFI_ArrowArrayStream>(capsule, STREAM)?;
    // SAFETY: the name was checked, so the interface promises this type. It moves out and leaves a released one behind.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(PyValueError::new_err("the stream was read before"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: its own function, on a stream that was not released.
    let code = unsafe { get_schema(&mut stream, &mut schema) };
    check(&mut stream, code)?;
    let mut chunks = Vec::new();
    loop {
        let mut next = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&mut stream, &mut next) };
        check(&mut stream, code)?;
        if next.is_released() {
            return Ok(chunks);
        }
        // SAFETY: the stream says that its arrays have its schema.
        chunks.push(make_array(unsafe { from_ffi(next, &schema) }.map_err(value_error)?));
    }
}

fn check(stream: &mut FFI_ArrowArrayStream, code: c_int) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: asked for right after a call that failed, as the interface allows; read before the next call.
    let text = stream.get_last_error.map(|text| unsafe { text(stream) }).filter(|text| !text.is_null());
    // SAFETY: the interface promises a string with an end.
    let text = text.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    Err(PyValueError::new_err(text.unwrap_or_else(|| format!("the Arrow stream failed with code {code}"))))
}
