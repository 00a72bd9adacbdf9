import { Button, VisuallyHidden } from '@mantine/core'
import type { PlannedModel } from '@gateway/contracts/plan-api'
import { memo } from 'react'
import { chargeOf } from '../../core/charge.ts'
import { formatCharge, formatCount, formatDuration } from '../../core/format.ts'
import { readSmartRoute } from '../../core/smart-route.ts'
import { Fact } from '../../parts/facts.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { isRunning, type Turn } from './conversation.ts'
import classes from './turn-view.module.css'

export interface TurnViewProps {
  turn: Turn
  models: PlannedModel[]
  /** Sends the last turn's question again. */
  onRetry?: (() => void) | undefined
}

/** Renders again only when its own turn changes: the last turn changes with every frame. */
export const TurnView = memo(function TurnView({ turn, models, onRetry }: TurnViewProps) {
  const { question, thought, text, state, problem } = turn
  const runs = isRunning(turn)
  return (
    <article className={classes.turn} aria-busy={runs}>
      <div className={classes.question}>
        <VisuallyHidden>You: </VisuallyHidden>
        <p dir="auto">{question}</p>
      </div>
      <div className={classes.reply}>
        <VisuallyHidden>Response: </VisuallyHidden>
        {thought !== '' && <Thought text={thought} isRunning={runs && text === ''} />}
        {text === '' && thought === '' && runs && <Waiting />}
        <ResponseText text={text} />
        {state === 'stopped' && <p className={classes.note}>Stopped. You pay for the generated part.</p>}
        {problem && (
          <ProblemNotice problem={problem} action={onRetry && problem.mayPass && <Retry onClick={onRetry} />} />
        )}
        <Facts turn={turn} models={models} />
      </div>
      <VisuallyHidden role="status">{state === 'done' && `Response complete: ${text}`}</VisuallyHidden>
    </article>
  )
})

function Thought({ text, isRunning }: { text: string; isRunning: boolean }) {
  return (
    <details className={classes.thought}>
      <summary>{isRunning ? 'Thinking…' : 'Reasoning'}</summary>
      <p dir="auto">{text}</p>
    </details>
  )
}

function Retry({ onClick }: { onClick: () => void }) {
  return (
    <Button variant="default" size="xs" onClick={onClick}>
      Retry
    </Button>
  )
}

function Waiting() {
  return (
    <p className={classes.waiting} role="status">
      Waiting for the first token…
    </p>
  )
}

/** Shows fenced code apart from prose. Everything is rendered as text, never as markup. */
function ResponseText({ text }: { text: string }) {
  if (text === '') return null
  const pieces = text.split(/^```[^\n]*\n?/m)
  return pieces.map((piece, index) =>
    index % 2 === 1 ? (
      <pre key={index} className={classes.code} tabIndex={0} aria-label="Code">
        <code>{piece.trimEnd()}</code>
      </pre>
    ) : (
      piece.trim() !== '' && (
        <p key={index} dir="auto" className={classes.text}>
          {piece.trim()}
        </p>
      )
    ),
  )
}

function Facts({ turn, models }: { turn: Turn; models: PlannedModel[] }) {
  const { model, head, totals, firstTokenMs, totalMs } = turn
  if (!head) return null
  const nameOf = (id: string) => models.find((item) => item.id === id)?.name ?? id
  const route = head.smartRoute === null ? null : readSmartRoute(head.smartRoute)
  const served = models.find((item) => item.id === (route?.lane ?? model))
  const charge = totals?.tokens && served?.price ? chargeOf(served.price, totals.tokens) : null
  return (
    <dl className={classes.facts}>
      <Fact name={route ? 'Auto chose' : 'Lane'}>
        {route ? `${nameOf(route.lane)} (${route.reason})` : nameOf(model)}
      </Fact>
      {head.upstream && <Fact name="Upstream">{head.upstream}</Fact>}
      {firstTokenMs !== null && <Fact name="First token">{formatDuration(firstTokenMs)}</Fact>}
      {totalMs !== null && <Fact name="Total">{formatDuration(totalMs)}</Fact>}
      {totals?.tokens && (
        <Fact name="Tokens">
          {formatCount(totals.tokens.promptTokens)} in, {formatCount(totals.tokens.completionTokens)} out
        </Fact>
      )}
      {charge && <Fact name="Charge">{formatCharge(charge.amount, charge.unit)}</Fact>}
    </dl>
  )
}
