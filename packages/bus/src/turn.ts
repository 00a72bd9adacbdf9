/**
 * What is to be sent at the end of a turn of the event loop: all requests that had something to say in a turn share one
 * write to the socket, which costs more than anything else that the bus does for them.
 *
 * Work that is added while the turn ends still belongs to it. Work that throws ends the process, as a callback of the
 * event loop would; the rest is done in the next turn.
 */

const due: (() => void)[] = []

export function atTurnsEnd(work: () => void): void {
  if (due.push(work) === 1) setImmediate(endTurn)
}

/** Does now what waits for the end of the turn. */
export function endTurn(): void {
  let done = 0
  try {
    for (; done < due.length; done++) due[done]!()
  } finally {
    due.splice(0, done + 1)
    if (due.length > 0) setImmediate(endTurn)
  }
}
