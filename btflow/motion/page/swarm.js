function swarmView() { throw new Error("not yet"); }
