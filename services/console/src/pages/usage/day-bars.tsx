import { useState, type PointerEvent } from 'react'
import { formatShortDate } from '../../core/format.ts'
import { roundScale, type DayUsage } from '../../core/usage-days.ts'
import classes from './day-bars.module.css'
import type { Measure } from './measures.ts'

/**
 * One bar for each day. Pointing at a bar shows its figure. Keyboards and screen readers use the table, which has the same
 * figures, so the chart is one image with a summary.
 */
export function DayBars({ days, measure }: { days: DayUsage[]; measure: Measure }) {
  const [pointed, setPointed] = useState<number | null>(null)
  const values = days.map(measure.figure)
  const marks = roundScale(Math.max(...values))
  const top = marks.at(-1)!
  const shown = pointed === null ? null : days[pointed]

  function point(event: PointerEvent<HTMLDivElement>): void {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    const index = Math.floor(((event.clientX - left) / width) * days.length)
    setPointed(Math.min(days.length - 1, Math.max(0, index)))
  }

  return (
    <figure className={classes.figure}>
      <figcaption className={`${classes.caption} figures`}>
        {shown ? (
          <>
            <strong>{formatShortDate(shown.day)}</strong> {measure.format(measure.figure(shown))}
          </>
        ) : (
          `${measure.label} a day`
        )}
      </figcaption>
      <div className={classes.plot}>
        <div className={classes.marks} aria-hidden="true">
          {marks.map((mark) => (
            <span key={mark} className={classes.mark} style={{ insetBlockEnd: `${(mark / top) * 100}%` }}>
              {measure.short(mark)}
            </span>
          ))}
        </div>
        <div
          className={classes.bars}
          role="img"
          aria-label={summarise(days, values, measure)}
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setPointed(null)}
        >
          {days.map(({ day }, index) => (
            <div key={day} className={classes.day} data-pointed={index === pointed}>
              <div className={classes.bar} style={{ blockSize: `${((values[index] ?? 0) / top) * 100}%` }} />
            </div>
          ))}
        </div>
      </div>
      <div className={classes.dates} aria-hidden="true">
        {[days[0], days[Math.floor(days.length / 2)], days.at(-1)].map((day, index) => (
          <span key={index}>{day && (index === 0 || days.length > 2) && formatShortDate(day.day)}</span>
        ))}
      </div>
    </figure>
  )
}

function summarise(days: DayUsage[], values: number[], { label, format }: Measure): string {
  const highest = Math.max(...values)
  const day = days[values.indexOf(highest)]
  if (!day || highest === 0) return `${label} a day: none.`
  const total = values.reduce((sum, value) => sum + value, 0)
  return `${label} a day: ${format(total)} over ${days.length} days, the most on ${formatShortDate(day.day)}, ${format(highest)}.`
}
