exports.handler = (order, context, done) => done(null, order.Text);
