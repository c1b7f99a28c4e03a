"""Where paths part and meet: joins, widening, which objects correspond, what an unknown call may have changed."""
