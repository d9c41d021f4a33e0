"""The bundled server: base protocol, extensions, durable dedupe, scripted faults."""
