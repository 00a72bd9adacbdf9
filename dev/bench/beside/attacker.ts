/**
 * The process of one attack: `node attacker.ts <attack> <port> <key>`. It returns its number of responses for `count`, and
 * its responses by status for `stop`.
 */

import { ATTACKS, attack } from './attacks.ts'

const [name, port, key] = process.argv.slice(2)
const running = attack(
  ATTACKS.find((one) => one.name === name)!,
  Number(port),
  key!,
)

process.on('message', (message) => {
  if (message === 'count') process.send!(running.count())
  else void running.stop().then((statuses) => process.send!(statuses))
})
process.on('disconnect', () => process.exit())
process.send!('ready')
