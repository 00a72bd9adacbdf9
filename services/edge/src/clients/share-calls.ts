/**
 * Callers that ask the same while a call is under way share its answer. For calls whose answer is the same for whoever
 * asks until it comes; nothing is remembered once it has come.
 *
 * A failure is another matter: the call may have used up its time before a late caller came. So callers that joined a
 * call which failed ask once more, together, and share that answer or failure.
 */

export function shareCalls<Asked, Answer>(
  nameOf: (asked: Asked) => string,
  call: (asked: Asked) => Promise<Answer>,
): (asked: Asked) => Promise<Answer> {
  const underWay = new Map<string, Promise<Answer>>()

  function begin(name: string, asked: Asked): Promise<Answer> {
    const answer = call(asked).finally(() => underWay.delete(name))
    underWay.set(name, answer)
    return answer
  }

  return (asked) => {
    const name = nameOf(asked)
    const joined = underWay.get(name)
    if (!joined) return begin(name, asked)
    return joined.catch(() => underWay.get(name) ?? begin(name, asked))
  }
}
