/**
 * Callers that ask the same while a call is under way share its answer, or its failure. For calls whose answer is the same
 * for whoever asks until it comes; nothing is remembered once it has come.
 */

export function shareCalls<Asked, Answer>(
  nameOf: (asked: Asked) => string,
  call: (asked: Asked) => Promise<Answer>,
): (asked: Asked) => Promise<Answer> {
  const underWay = new Map<string, Promise<Answer>>()
  return (asked) => {
    const name = nameOf(asked)
    const known = underWay.get(name)
    if (known) return known
    const answer = call(asked).finally(() => underWay.delete(name))
    underWay.set(name, answer)
    return answer
  }
}
