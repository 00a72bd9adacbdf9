/**
 * The operator's commands. The table in the README is made of them: `npm test -- packages/ctl/src/commands.test.ts -u`.
 */

import { Command, Option } from 'commander'
import { dialectNames } from '@gateway/contracts/vendors'
import { setOverage, setPlan, setSuspended, showAccount, topUp } from './accounts.ts'
import { createAdminKey, listAdminKeys, revokeAdminKey } from './admin-keys.ts'
import { verifyAudit } from './audit.ts'
import type { CommandResult } from './command-result.ts'
import { type Control, controlBackend, showBackends } from './backends.ts'
import { checkConfigAt, checkConfigFile, importLitellmFile, type CheckOptions } from './config.ts'
import { listExports, runExport } from './exports.ts'
import { findGateway, type Gateway, type HttpAccess } from './gateway.ts'
import { reseal, revokeKey } from './keys.ts'
import { probeBackend, type ProbeOptions } from './probe.ts'
import { refreshPrices, type RefreshOptions } from './prices.ts'
import { archiveProject, createProject, listProjects } from './projects.ts'
import { verifyReceipt, type VerifyOptions } from './receipts.ts'
import { reconcile } from './reconcile.ts'
import { enableWebhook, listDeadLetters, listWebhooks, redeliver } from './webhooks.ts'
import { showUsage, type UsageOptions } from './usage.ts'

const print = (line: string) => void process.stderr.write(`${line}\n`)

function say({ data, text, findsFault = false }: CommandResult): void {
  process.stdout.write(`${program.opts()['json'] ? JSON.stringify(data, null, 2) : text}\n`)
  if (findsFault) process.exitCode = 2
}

async function onGateway(command: (gateway: Gateway) => Promise<CommandResult>): Promise<void> {
  await using gateway = await findGateway(process.env, program.opts<HttpAccess>())
  say(await command(gateway))
}

export const program = new Command('ctl')
  .description('Send commands to a running gateway')
  .option('--json', 'print JSON for scripts instead of text and tables')
  .option('--url <address>', 'reach the gateway over HTTP instead of its bus')
  .addOption(new Option('--admin-key <key>', 'for --url').env('GATEWAY_ADMIN_KEY'))
  .enablePositionalOptions()
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

accounts
  .command('suspend <subject>')
  .description('Refuse all its keys until it is restored, and cut their open streams')
  .action((subject: string) => onGateway((gateway) => setSuspended(gateway, subject, true)))
accounts
  .command('restore <subject>')
  .description('Admit its keys again')
  .action((subject: string) => onGateway((gateway) => setSuspended(gateway, subject, false)))

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

const adminKeys = program.command('admin-keys').description('Manage the keys of administrators')
adminKeys
  .command('create [name]')
  .description('Create a key for the administration API, and show it once')
  .option('--days <count>', 'let it expire after so many days')
  .action((name: string | undefined, { days }: { days?: string }) =>
    onGateway((gateway) => createAdminKey(gateway, name ?? 'ctl', days)),
  )
adminKeys
  .command('list')
  .description('Show the live ones')
  .action(() => onGateway(listAdminKeys))
adminKeys
  .command('revoke <id>')
  .description('Revoke one at once')
  .action((id: string) => onGateway((gateway) => revokeAdminKey(gateway, id)))

program
  .command('audit')
  .description('Inspect the audit log')
  .command('verify')
  .description('Verify the chain of its rows; exit with 2 where one was changed, removed or inserted')
  .action(() => onGateway(verifyAudit))

program
  .command('receipts')
  .description('Check signed receipts')
  .command('verify <receipt>')
  .description('Verify the signature of a receipt, without an admin key; exit with 2 where something was changed')
  .option('--keys <address|file>', 'the public keys; default: those of --url')
  .option('--content <file>', 'the response as it came, to be compared')
  .action(async (receipt: string, options: VerifyOptions) =>
    say(await verifyReceipt(receipt, options, program.opts<HttpAccess>().url)),
  )

const projects = program.command('projects').description('Manage projects')
projects
  .command('create <name>')
  .description('Create a project')
  .option('--plan <plan>', 'default: the default plan')
  .action((name: string, { plan }: { plan?: string }) => onGateway((gateway) => createProject(gateway, name, plan)))
projects
  .command('list')
  .description('Show all projects, personal accounts too')
  .option('--archived', 'show archived ones, too')
  .action(({ archived = false }: { archived?: boolean }) => onGateway((gateway) => listProjects(gateway, archived)))
projects
  .command('archive <project>')
  .description(
    'End all keys of a project at once, and cut their open streams; <project> is its id, or its name where it is unique',
  )
  .action((named: string) => onGateway((gateway) => archiveProject(gateway, named)))

const webhooks = program.command('webhooks').description('Inspect deliveries to webhooks and by e-mail')
webhooks
  .command('list')
  .description('Show the webhooks of the config with their waiting and dead deliveries')
  .action(() => onGateway(listWebhooks))
webhooks
  .command('enable <id>')
  .description('Send to a webhook again that was disabled by a 410')
  .action((id: string) => onGateway((gateway) => enableWebhook(gateway, id)))
webhooks
  .command('dead-letters')
  .description('Show the deliveries that failed for a day')
  .action(() => onGateway(listDeadLetters))
webhooks
  .command('redeliver <id>')
  .description('Send a dead letter again')
  .action((id: string) => onGateway((gateway) => redeliver(gateway, id)))

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

const EFFECTS: Record<Control, string> = {
  eject: 'Take a backend out until it is restored; it stays the last resort',
  drain: 'Give a backend no new request until it is restored; open ones finish',
  restore: 'Bring an ejected or drained backend back',
}
for (const control of ['eject', 'drain', 'restore'] as const)
  backends
    .command(`${control} <id>`)
    .description(EFFECTS[control])
    .action((id: string) => onGateway((gateway) => controlBackend(gateway, control, id)))

program
  .command('reconcile')
  .description('Compare the admission store with the ledger and the keys; exit with 2 where they differ')
  .option('--repair', 'repair the differences')
  .action(({ repair = false }: { repair?: boolean }) => onGateway((gateway) => reconcile(gateway, repair, print)))

const exported = program.command('exports').description('Manage exports of the ledger')
exported
  .command('list')
  .description('Show the last file of each, its rows, the time that it is behind, and its last error')
  .action(() => onGateway(listExports))
exported
  .command('run <id>')
  .description('Write the rows that are here now, instead of at the end of their day')
  .action((id: string) => onGateway((gateway) => runExport(gateway, id)))

const config = program.command('config').description('Check or import a config file')
config
  .command('check <file>')
  .description('Find mistakes before a rollout; needs no gateway, and with --url that gateway checks')
  .option('--no-secrets', 'accept variables that are not set here')
  .option('--strict', 'count warnings as mistakes')
  .option('--former <file>', 'the file that runs now: a direct model of it may not be missing without notice')
  .action(async (file: string, options: CheckOptions) =>
    program.opts<HttpAccess>().url === undefined
      ? say(await checkConfigFile(file, options))
      : onGateway((gateway) => checkConfigAt(gateway, file, options)),
  )
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

/** `--url` means the gateway before a command, and the command's own address behind it. `--json` may stand in both places. */
function takeJsonAnywhere(command: Command): void {
  for (const inner of command.commands) {
    inner.addOption(new Option('--json').hideHelp()).on('option:json', () => program.setOptionValue('json', true))
    takeJsonAnywhere(inner)
  }
}
takeJsonAnywhere(program)
