//! Entry points for fuzzing: they eat any bytes and must neither panic nor hang.
