/**
 * The operator's commands. The table in the README is made of them: `npm test -- packages/ctl/src/commands.test.ts -u`.
 */

import { Command } from 'commander'
import { dialectNames } from '@gateway/contracts/vendors'
import { setOverage, setPlan, showAccount, topUp } from './accounts.ts'
import type { CommandResult } from './command-result.ts'
import { showBackends } from './backends.ts'
import { checkConfigFile, importLitellmFile, type CheckOptions } from './config.ts'
import { findGateway, type Gateway } from './gateway.ts'
import { reseal, revokeKey } from './keys.ts'
import { probeBackend, type ProbeOptions } from './probe.ts'
import { refreshPrices, type RefreshOptions } from './prices.ts'
import { reconcile } from './reconcile.ts'
import { showUsage, type UsageOptions } from './usage.ts'

const print = (line: string) => void process.stderr.write(`${line}\n`)

function say({ data, text, findsFault = false }: CommandResult): void {
  process.stdout.write(`${program.opts()['json'] ? JSON.stringify(data, null, 2) : text}\n`)
  if (findsFault) process.exitCode = 2
}

async function onGateway(command: (gateway: Gateway) => Promise<CommandResult>): Promise<void> {
  await using gateway = await findGateway(process.env)
  say(await command(gateway))
}

export const program = new Command('ctl')
  .description('Send commands to a running gateway')
  .option('--json', 'print JSON for scripts instead of text and tables')
  .showHelpAfterError()

const accounts = program
  .command('accounts')
  .description(
    "Show or change an account, named by its token's sub, by <iss>|<sub> where several issuers share it, or by its tag",
  )
accounts
  .command('show <subject>')
  .description('Show its plan, top-ups and keys')
  .action((subject: string) => onGateway((gateway) => showAccount(gateway, subject)))
accounts
  .command('set-plan <subject> <plan>')
  .description('Change its plan from the very next request on')
  .action((subject: string, plan: string) => onGateway((gateway) => setPlan(gateway, subject, plan)))
accounts
  .command('set-overage <subject> <on|off>')
  .description('Admit or refuse requests beyond the allowance')
  .action((subject: string, text: string) => onGateway((gateway) => setOverage(gateway, subject, text)))
accounts
  .command('top-up <subject> <amount>')
  .description("Add to this month's allowance, in the plan's unit")
  .option('--id <uuid>', 'the id of the top-up: the same id adds nothing more')
  .action((subject: string, amount: string, { id }: { id?: string }) =>
    onGateway((gateway) => topUp(gateway, subject, amount, id)),
  )

program
  .command('usage')
  .description('Show the usage of one account, or of all, between two days (UTC, both included)')
  .option('--account <subject>', 'show this account by day, instead of all accounts')
  .option('--from <date>', 'default: the first of this month')
  .option('--to <date>', 'default: today')
  .option('--by <day|model|session|agent>', 'group the usage of an account')
  .option('--session <id>', 'by session or agent: only one session')
  .option('--top <count>', 'the number of accounts to show', '20')
  .action((options: UsageOptions) => onGateway((gateway) => showUsage(gateway, options)))

const keys = program.command('keys').description('Manage API keys, each named by its id')
keys
  .command('revoke <key-id>')
  .description('Revoke a key: no edge admits it from then on, and its open streams end')
  .action((keyId: string) => onGateway((gateway) => revokeKey(gateway, keyId)))
keys
  .command('reseal')
  .description('Seal all keys under the newest secret of KEYS_MASTER_SECRET; afterwards you may remove the former ones')
  .action(() => onGateway((gateway) => reseal(gateway, print)))

const backends = program
  .command('backends')
  .description("Show each backend's health, as each router sees it")
  .action(() => onGateway(showBackends))
backends
  .command('probe [id]')
  .description('Probe the abilities of a backend itself; needs no gateway')
  .option('--url <address>', 'probe this address instead of a backend in GATEWAY_CONFIG')
  .option('--key <key>', 'for --url; default: BACKEND_API_KEY')
  .option('--model <name...>', 'default: those that pools name, or that lanes could get')
  .option(`--dialect <${dialectNames.join('|')}>`, 'for --url')
  .option('--dry-run', 'show the cost, and send nothing')
  .action(async (id: string | undefined, options: ProbeOptions) =>
    say(await probeBackend(id, options, process.env, print)),
  )

program
  .command('reconcile')
  .description('Compare the admission store with the ledger and the keys; exit with 2 where they differ')
  .option('--repair', 'repair the differences')
  .action(({ repair = false }: { repair?: boolean }) => onGateway((gateway) => reconcile(gateway, repair, print)))

const config = program.command('config').description('Check or import a config file')
config
  .command('check <file>')
  .description('Find mistakes before a rollout; needs no gateway')
  .option('--no-secrets', 'accept variables that are not set here')
  .option('--strict', 'count warnings as mistakes')
  .option('--former <file>', 'the file that runs now: a direct model of it may not be missing without notice')
  .action(async (file: string, options: CheckOptions) => say(await checkConfigFile(file, options)))
config
  .command('import')
  .description('Write a config file from that of another gateway')
  .command('litellm <file>')
  .description(
    "Print a config file from LiteLLM's config.yaml; comments name each setting without a counterpart, and no key is copied",
  )
  .action(async (file: string) => say(await importLitellmFile(file)))

program
  .command('prices')
  .description("Manage vendors' rates in a config file")
  .command('refresh <file>')
  .description("Show the direct models for which the price package's list of today has other rates; needs no gateway")
  .option('--write', 'write the listed rates into the file')
  .option('--url <address>', "the address of a copy of the list; default: its authors'")
  .action(async (file: string, options: RefreshOptions) => say(await refreshPrices(file, options)))
