package plainfile

const noWaiting = 0
