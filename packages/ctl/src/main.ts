/**
 * `npm run ctl -- …`: the operator's command line. Finds the gateway by `NATS_URL` or `DATA_DIR`.
 *
 * Exit codes: 0 done, 1 it could not be done, 2 it was done and found something to act on.
 */

import { Command } from 'commander'
import { dialectNames } from '@gateway/contracts/vendors'
import { reportFatal } from '@gateway/service/report-fatal'
import { setOverage, setPlan, showAccount, topUp } from './accounts.ts'
import type { Answer } from './response.ts'
import { showBackends } from './backends.ts'
import { checkConfigFile, importLitellmFile, type CheckOptions } from './config.ts'
import { findGateway, type Gateway } from './gateway.ts'
import { reseal, revokeKey } from './keys.ts'
import { probeBackend, type ProbeOptions } from './probe.ts'
import { refreshPrices, type RefreshOptions } from './prices.ts'
import { reconcile } from './reconcile.ts'
import { showUsage, type UsageOptions } from './usage.ts'

const tell = (line: string) => void process.stderr.write(`${line}\n`)

function say({ facts, text, findsFault = false }: Answer): void {
  process.stdout.write(`${program.opts()['json'] ? JSON.stringify(facts, null, 2) : text}\n`)
  if (findsFault) process.exitCode = 2
}

async function onGateway(command: (gateway: Gateway) => Promise<Answer>): Promise<void> {
  await using gateway = await findGateway(process.env)
  say(await command(gateway))
}

// `| head` reads no further: nothing is wrong with that, and the exit code stays.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

const program = new Command('ctl')
  .description('commands to a running gateway')
  .option('--json', 'facts for scripts instead of words and tables')
  .showHelpAfterError()

const accounts = program
  .command('accounts')
  .description("accounts, each named by its token's sub, by <iss>|<sub> where several issuers share it, or by its tag")
accounts
  .command('show <subject>')
  .description('its plan, top-ups and keys')
  .action((subject: string) => onGateway((gateway) => showAccount(gateway, subject)))
accounts
  .command('set-plan <subject> <plan>')
  .description('holds for the very next request')
  .action((subject: string, plan: string) => onGateway((gateway) => setPlan(gateway, subject, plan)))
accounts
  .command('set-overage <subject> <on|off>')
  .description('whether requests beyond the allowance are admitted')
  .action((subject: string, text: string) => onGateway((gateway) => setOverage(gateway, subject, text)))
accounts
  .command('top-up <subject> <amount>')
  .description("more allowance for this month, in the plan's unit")
  .option('--id <uuid>', 'of the top-up: the same id adds nothing more')
  .action((subject: string, amount: string, { id }: { id?: string }) =>
    onGateway((gateway) => topUp(gateway, subject, amount, id)),
  )

program
  .command('usage')
  .description('what one account, or all of them, used on some days (UTC, both included)')
  .option('--account <subject>', 'by day, instead of all accounts')
  .option('--from <date>', 'default: the first of this month')
  .option('--to <date>', 'default: today')
  .option('--by <day|model>', 'of an account: by day or by model')
  .option('--top <count>', 'of all accounts: how many are named', '20')
  .action((options: UsageOptions) => onGateway((gateway) => showUsage(gateway, options)))

const keys = program.command('keys').description('API keys, each named by its id')
keys
  .command('revoke <key-id>')
  .description('no edge admits it once this has answered; its open streams are cut')
  .action((keyId: string) => onGateway((gateway) => revokeKey(gateway, keyId)))
keys
  .command('reseal')
  .description('seals all keys under the newest of KEYS_MASTER_SECRET; afterwards the former ones may go')
  .action(() => onGateway((gateway) => reseal(gateway, tell)))

const backends = program
  .command('backends')
  .description('how each backend is, as each router sees it')
  .action(() => onGateway(showBackends))
backends
  .command('probe [id]')
  .description('asks a backend itself what it takes and gives; needs no gateway')
  .option('--url <address>', 'instead of the id of a backend in GATEWAY_CONFIG')
  .option('--key <key>', 'for --url; default: BACKEND_API_KEY')
  .option('--model <name...>', 'default: those that pools name, or that lanes could get')
  .option(`--dialect <${dialectNames.join('|')}>`, 'for --url')
  .option('--dry-run', 'tells what it would cost, and asks nothing')
  .action(async (id: string | undefined, options: ProbeOptions) =>
    say(await probeBackend(id, options, process.env, tell)),
  )

program
  .command('reconcile')
  .description('whether the admission store agrees with the ledger and with the keys; exits with 2 where it does not')
  .option('--repair', 'puts right what differs')
  .action(({ repair = false }: { repair?: boolean }) => onGateway((gateway) => reconcile(gateway, repair, tell)))

const config = program.command('config').description('the config file')
config
  .command('check <file>')
  .description('finds mistakes before a rollout; needs no gateway')
  .option('--no-secrets', 'the variables that it refers to are not set here')
  .option('--strict', 'warnings count as mistakes')
  .option('--former <file>', 'the file that runs now: a direct model of it may not be missing without notice')
  .action(async (file: string, options: CheckOptions) => say(await checkConfigFile(file, options)))
config
  .command('import')
  .description('writes a config file from that of another gateway')
  .command('litellm <file>')
  .description("LiteLLM's config.yaml; comments tell what has no counterpart")
  .action(async (file: string) => say(await importLitellmFile(file)))

program
  .command('prices')
  .description("vendors' rates in a config file")
  .command('refresh <file>')
  .description("tells where the price package's list of today has other rates for direct models; needs no gateway")
  .option('--write', 'writes the listed rates into the file')
  .option('--url <address>', "of a copy of the list; default: its authors'")
  .action(async (file: string, options: RefreshOptions) => say(await refreshPrices(file, options)))

try {
  await program.parseAsync()
} catch (error) {
  // It exits: a connection that is still being tried would keep the process.
  reportFatal(error)
}
