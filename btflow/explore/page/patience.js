// anywidget gives a widget two seconds to load its script; if they pass, every message to that widget is dropped from
// then on. Where ten pages open at once on a busy machine they do pass, and a figure or the link would stay empty.
{
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => timeout(Math.max(ms, 600000));
}
