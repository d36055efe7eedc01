"""Link experiments: flows over access links with queues, from scenario to Dataset."""
