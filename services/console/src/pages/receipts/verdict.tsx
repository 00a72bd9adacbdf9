import type { ReceiptClaims } from '@gateway/contracts/receipts'
import { formatReceiptCharge, formatReceiptTokens, REFUSALS } from '../../core/explain-receipt.ts'
import { formatCount, formatMoment } from '../../core/format.ts'
import { isoOf } from '../../core/unix-time.ts'
import { Card } from '../../parts/card.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { CheckIcon, WarningIcon } from '../../parts/icons.tsx'
import classes from './receipts-page.module.css'
import type { ContentCheck, Verification } from './verify-receipt.ts'

export function Verdict({ verification }: { verification: Verification }) {
  if (verification.kind === 'signed') return <Signed {...verification} />
  const { title, advice } = REFUSALS[verification.reason]
  return (
    <Card>
      <Sentence isRight={false}>{title}</Sentence>
      <p>{advice}</p>
    </Card>
  )
}

function Signed({ claims, content }: { claims: ReceiptClaims; content: ContentCheck | null }) {
  const isRight = content?.isSame ?? true
  return (
    <Card>
      <Sentence isRight={isRight}>
        {isRight ? 'The gateway signed this receipt' : 'The gateway signed this receipt for another content'}
      </Sentence>
      <div className={classes.claims}>
        <Facts>
          <Fact name="Charge">{formatReceiptCharge(claims.charge)}</Fact>
          <Fact name="Model">
            <span className="mono">{claims.model}</span>
          </Fact>
          <Fact name="Tokens">{formatReceiptTokens(claims)}</Fact>
          <Fact name="Ended">{formatMoment(isoOf(claims.iat))}</Fact>
          <Fact name="Account">
            <span className="mono">{claims.account}</span>
          </Fact>
          <Fact name="Gateway">{claims.iss}</Fact>
          <Fact name="Request">
            <span className="mono">{claims.jti}</span>
          </Fact>
        </Facts>
      </div>
      <p className={classes.advice}>{describeContent(claims, content)}</p>
    </Card>
  )
}

function describeContent({ content: signed }: ReceiptClaims, given: ContentCheck | null): string {
  const expected = `${formatCount(signed.bytes)} bytes`
  if (given === null) return `It covers a content of ${expected}. Give the content, and this page compares it.`
  if (given.isSame) return `The content is the one that was charged: ${expected}, and each of them is the same.`
  return given.bytes === signed.bytes
    ? `The content has ${expected}, as the receipt says, and at least one of them is another.`
    : `The receipt is for ${expected}, and this content has ${formatCount(given.bytes)}. An editor or a terminal may have changed line ends.`
}

function Sentence({ isRight, children }: { isRight: boolean; children: string }) {
  return (
    <p className={classes.verdict} data-is-right={isRight}>
      {isRight ? <CheckIcon /> : <WarningIcon />}
      <span>{children}</span>
    </p>
  )
}
