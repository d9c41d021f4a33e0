"""The WebSocket to the server: link, tokens, reconnect."""
