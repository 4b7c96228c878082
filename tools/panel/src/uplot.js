// The plots of internal/client/web/static/plots.js.
export { default } from 'uplot';
