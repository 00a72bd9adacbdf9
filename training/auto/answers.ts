/**
 * Turns of an assistant on each lane, for prompts that follow one. Their form is read, not their words.
 */

import type { Lane } from '../../packages/auto/src/lanes.ts'

const SHORT = [
  'Yes.',
  'Seven.',
  'About 12 minutes.',
  'Here you go: the second one.',
  'It means "slowly".',
  'No, that was his brother.',
  'Boil them for eight minutes, then rinse them with cold water.',
]
const FRIENDLY = [
  'Sure, happy to help!',
  'Hi! What can I do for you?',
  'Ha, that sounds like a long day. How did it end?',
  'Done.',
  'You are welcome! Anything else?',
  'Good night! 😊',
]
const SENTENCES = [
  'There are several things to weigh here, and they do not all point the same way.',
  'The first is how much time you have; the second is who will read it.',
  'Many people find that a small change early on saves a great deal of trouble later.',
  'On the other hand, the older way has its friends, and for good reasons.',
  'In practice both views meet somewhere in the middle.',
  'The morning smelt of rain, and nobody on the platform said a word.',
  'She folded the letter twice and put it back into the drawer.',
  'It grew out of a need that nobody had put into words before.',
  'Start small, look at what happens, and adjust.',
  'That is why the effect is larger in winter than in summer.',
]
const STEPS = [
  'Let x be the number of coins; then 3x + 5 = 41.',
  'Assume the opposite: then \\(n^2\\) is odd.',
  'Hence $a_{k+1} = 2a_k - 1$.',
  'By symmetry the two cases give the same sum.',
  'Dividing both sides by 4 gives y = 9.',
  'So the probability is 5/36 ≈ 0.139.',
]
const PROGRAMS = [
  '```python\ndef solve(items):\n    return sorted(set(items))\n```',
  '```js\nconst total = rows.reduce((sum, row) => sum + row.price, 0)\n```',
  '```sql\nSELECT name, COUNT(*) FROM orders GROUP BY name;\n```',
  '```bash\nfind . -name "*.log" -mtime +7 -delete\n```',
  'The error means that the list is empty; check its length before you read from it.\n```\nif (list.length > 0) { ... }\n```',
]
const FINDINGS = [
  'As of this morning, the rate stands at 3.4% [1].',
  'According to https://www.example.org/report, sales rose by 4% in the third quarter.',
  'Two newer studies disagree with it [2][3].',
  'Tomorrow: 14 °C, light rain from noon.',
  'I found 4 places that are open now; the nearest closes at 22:00.',
  'Sources: [The Herald](https://herald.example/a), [Institute](https://inst.example/b)',
]

type Pick = <T>(list: readonly T[]) => T

const MAKERS: Record<Lane, (pick: Pick, random: () => number) => string> = {
  spark: (pick, random) => (random() < 0.7 ? pick(FRIENDLY) : pick(SHORT)),
  bolt: (pick, random) => (random() < 0.8 ? pick(SHORT) : pick(SENTENCES)),
  nova: (pick, random) => composed(pick, random),
  atlas: (pick, random) => some(STEPS, 2 + random() * 4, pick, '\n'),
  research: (pick, random) => some(FINDINGS, 1 + random() * 3, pick, '\n\n'),
  code: (pick, random) =>
    random() < 0.3 ? `${pick(SENTENCES)}\n${pick(PROGRAMS)}\n${pick(SENTENCES)}` : pick(PROGRAMS),
}

export function responseTo(lane: Lane, random: () => number): string {
  return MAKERS[lane]((list) => list[Math.floor(random() * list.length)]!, random)
}

function composed(pick: Pick, random: () => number): string {
  const paragraphs = Array.from({ length: 1 + Math.floor(random() * 5) }, () =>
    some(SENTENCES, 1 + random() * 3, pick, ' '),
  )
  const mark = pick(['', '', '- ', '1. ', '## '])
  return paragraphs.map((paragraph) => mark + paragraph).join('\n')
}

function some(list: readonly string[], count: number, pick: Pick, between: string): string {
  return Array.from({ length: Math.floor(count) }, () => pick(list)).join(between)
}
