// Figures as people read them. What is not known is a dash, never a zero.

const grouped = new Intl.NumberFormat("en-US");

export const UNKNOWN = "–";

export const count = (value) => (value === null ? UNKNOWN : grouped.format(value));

export const percent = (share) => (share === null ? UNKNOWN : `${(100 * share).toFixed(1)} %`);

export const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

export function dollars(amount) {
  if (amount === null) return UNKNOWN;
  const size = Math.abs(amount);
  if (size >= 1 || size === 0) return `$${amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  return `$${amount.toFixed(size >= 0.1 ? 2 : Math.min(8, 1 - Math.floor(Math.log10(size))))}`;
}

export function milliseconds(value) {
  if (value === null) return UNKNOWN;
  return value >= 100 ? `${grouped.format(Math.round(value))} ms` : `${value.toFixed(1)} ms`;
}

export function ago(at, now) {
  if (at === null) return "";
  const seconds = Math.max(0, Math.round(now - at));
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(1000 * at).toISOString().slice(0, 10);
}

export const clockTime = (at) => (at === null ? "" : new Date(1000 * at).toLocaleTimeString("en-GB"));

export const median = (numbers) => {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

export function lossInWords(tokens, usd) {
  if (tokens === null) return "what it cost is not known";
  if (usd === null) return `about ${plural(tokens, "token")} computed again`;
  return `about ${plural(tokens, "token")} billed again, ${dollars(usd)} lost`;
}
