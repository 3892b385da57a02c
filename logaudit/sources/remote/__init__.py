"""Reading on other machines: the transport, the shell over there, and what its complaints mean."""
